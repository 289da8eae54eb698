"""JSON schemas of the configuration's files: up to date, true, and of use."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kerhrm_paper.config.json_schema import FOLDER, json_schemas, text_of
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.strict_yaml import read_yaml

CONFIG = CHECKOUT / "config"
FILES = sorted(
    path
    for pattern in ("*.yaml", "data/*.yaml", "tables/*.yaml", "presets/*.yaml")
    for path in CONFIG.glob(pattern)
    if path.read_text().startswith("# yaml-language-server")
)


def errors(schema: dict[str, Any], content: Any) -> list[str]:
    return [
        error.message for error in Draft202012Validator(schema).iter_errors(content)
    ]


def named(path: Path) -> Path:
    """Schema that the first line of a file names."""
    first, *_ = path.read_text().splitlines()
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert found is not None
    return (path.parent / found[1]).resolve()


def test_the_files_are_what_the_classes_say() -> None:
    """To renew them: python -m kerhrm_paper.config.json_schema."""
    schemas = json_schemas()
    assert {path.stem for path in FOLDER.glob("*.json")} == schemas.keys()
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert (FOLDER / f"{name}.json").read_text() == text_of(schema)


def test_each_kind_of_file_names_a_schema() -> None:
    assert {named(path) for path in FILES} == set(FOLDER.glob("*.json"))
    for folder in ("data", "tables", "presets"):
        assert set((CONFIG / folder).glob("*.yaml")) <= set(FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_follows_its_schema(path: Path) -> None:
    schema = json.loads(named(path).read_text())
    content = read_yaml(path)
    assert errors(schema, content) == []


def test_a_mistyped_key_or_value_is_found() -> None:
    schemas = json_schemas()
    data = read_yaml(CONFIG / "data" / "houses.yaml")
    assert errors(schemas["data"], data | {"sedes": 3})
    assert errors(schemas["data"], data | {"generator": 3})
    assert errors(schemas["config"], {"threads": 0})
    assert errors(schemas["config"], {"learners": {"erm": {"mehtod": "erm"}}})
    assert not errors(schemas["config"], {"learners": {"erm": None}})
    assert errors(schemas["learners"], {"erm": {"titles": {"model": "ERM"}}})
