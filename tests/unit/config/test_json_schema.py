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
    for pattern in ("*.yaml", "*/*.yaml")
    for path in CONFIG.glob(pattern)
    if path.read_text().startswith("# yaml-language-server")
)


def errors(schema: dict[str, Any], content: Any) -> list[str]:
    found = Draft202012Validator(schema).iter_errors(content)
    return [error.message for error in found]


def named(path: Path) -> Path:
    """Schema that the first line of a file names."""
    first, *_ = path.read_text().splitlines()
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert found is not None
    return (path.parent / found[1]).resolve()


def test_the_files_are_what_the_classes_say() -> None:
    """To renew them: python -m kerhrm_paper.config.json_schema."""
    schemas = json_schemas()
    written = {path.stem for path in FOLDER.glob("*.json")}
    assert written == schemas.keys()
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        text = (FOLDER / f"{name}.json").read_text()
        assert text == text_of(schema)


def test_each_kind_of_file_names_a_schema() -> None:
    schemas = {named(path) for path in FILES}
    assert schemas == set(FOLDER.glob("*.json"))
    for folder in ("data", "tables", "presets", "selected"):
        files = (CONFIG / folder).glob("*.yaml")
        assert set(files) <= set(FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_follows_its_schema(path: Path) -> None:
    text = named(path).read_text()
    schema = json.loads(text)
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
