"""What is written of the configuration is what the models say."""

from pathlib import Path

import jsonschema
import pytest
import yaml
from configtools import SHIPPED

from kerhrm.config.documentation import pages, schema
from kerhrm.config.schema import Config, Experiment, Seeds, Setting, Tuning

FILES = sorted(
    str(p.relative_to(SHIPPED))
    for d in ("presets", "experiments", "datasets")
    for p in (SHIPPED / d).iterdir()
)


@pytest.mark.parametrize("path", pages(SHIPPED.parent), ids=lambda path: path.name)
def test_the_pages_are_up_to_date(path: Path) -> None:
    """Else: python -m kerhrm.config.documentation."""
    assert path.read_text(encoding="utf-8") == pages(SHIPPED.parent)[path]


@pytest.mark.parametrize("model", [Config, Experiment, Seeds, Setting, Tuning])
def test_every_key_is_described(model: type[Config]) -> None:
    assert all(field.description for field in model.model_fields.values())


@pytest.mark.parametrize("path", ["config.yaml", *FILES])
def test_the_schema_takes_the_shipped_files(path: str) -> None:
    content = yaml.safe_load((SHIPPED / path).read_text(encoding="utf-8"))
    jsonschema.validate(content or {}, part(path))


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("presets/a.yaml", {"threads": 0}),
        ("presets/a.yaml", {"methods": {"erm": {"step": 3}}}),
        ("presets/a.yaml", {"methods": {"dro": {"grid": {"rho": [-1.0]}}}}),
        ("presets/a.yaml", {"datasets": {"mine": {"targets": "price"}}}),
        ("datasets/a.yaml", {"missing": "mean"}),
        ("experiments/a.yaml", {"seeds": 0}),
        ("experiments/a.yaml", {"run": ["emr"]}),
        ("experiments/a.yaml", {"data": {"r2": 0.7, "n_train": 3}}),
        ("experiments/a.yaml", {"settings": {"a": {"methods": {"kerhrm": {"k": 10}}}}}),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: str, content: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, part(path))


def part(path: str) -> dict[str, object]:
    """The schema of a file."""
    whole = schema()
    section = {"experiments": "Experiment", "datasets": "Block"}.get(Path(path).parts[0])
    return {"$ref": f"#/$defs/{section}", "$defs": whole["$defs"]} if section else whole
