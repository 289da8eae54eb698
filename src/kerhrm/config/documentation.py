"""``config/schema.json`` and the tables of ``docs/configuration.md``, made from the models.

``python -m kerhrm.config.documentation`` writes them into the checkout at hand.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from kerhrm.config import datasets
from kerhrm.config.schema import SHARED, VARIANTS, Config
from kerhrm.methods.registry import METHODS

Schema = dict[str, Any]


class _Partial(GenerateJsonSchema):
    """Of files, which lie over each other: nothing is required, and keys need no titles."""

    def field_is_required(self, *_: Any, **__: Any) -> bool:
        return False

    def field_title_should_be_set(self, *_: Any, **__: Any) -> bool:
        return False


def schema() -> Schema:
    """JSON schema of a preset; of an experiment's file under ``$defs/Experiment``."""
    whole = Config.model_json_schema(schema_generator=_Partial)
    setting, experiment = (whole["$defs"][n]["properties"] for n in ("Setting", "Experiment"))
    experiment |= {name: setting[name] for name in SHARED}
    whole["properties"]["methods"] = setting["methods"]
    whole["properties"] |= _datasets(whole["$defs"])
    experiment[VARIANTS] = experiment["settings"] | {
        "description": "by name, what each changes in every setting S: further settings S,NAME"
    }
    for one in (experiment["settings"], experiment[VARIANTS], whole["properties"]["experiments"]):
        one["additionalProperties"] = {"anyOf": [one["additionalProperties"], {"type": "null"}]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | whole


def _datasets(sections: Schema) -> Schema:
    """The key ``datasets``; the section of a block joins the others."""
    data, experiment = (sections[name]["properties"] for name in ("TabularData", "Experiment"))
    sections["Block"] = {
        "additionalProperties": False,
        "description": "A table of one's own, in config/datasets/NAME.yaml: target dataset_NAME.",
        "properties": {name: data[name] for name in datasets.DATA}
        | {"max_rows": data["max_rows"] | {"default": datasets.MOST_ROWS}}
        | {name: experiment[datasets.MEANT.get(name, name)] for name in datasets.OTHERS},
        "title": "Block",
        "type": "object",
    }
    return {
        "datasets": {
            "additionalProperties": {"$ref": "#/$defs/Block"},
            "description": "tables of one's own, as those in config/datasets, by name",
            "type": "object",
        }
    }


def pages(checkout: Path) -> dict[Path, str]:
    """Content of the files; what stands above the tables of the Markdown is written by hand."""
    page = checkout / "docs" / "configuration.md"
    head = page.read_text(encoding="utf-8").partition("\n## Config\n")[0]
    return {
        page: "\n".join([head, *_tables(schema()), *_methods()]),
        checkout / "config" / "schema.json": json.dumps(schema(), indent=1) + "\n",
    }


def _tables(whole: Schema) -> Iterator[str]:
    """A table per section, each after the first that names it."""
    sections, names = whole["$defs"] | {"Config": whole}, ["Config"]
    for name in names:  # grows
        yield f"## {name}\n\n{sections[name]['description']}\n"
        rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
        for key, field in sections[name]["properties"].items():
            named = [_section(n) for n in re.findall(r"\$defs/(\w+)", json.dumps(field))]
            names += [n for n in named if n not in names]
            told = field.get("description") or sections[named[0]]["description"].split("\n")[0]
            default = field.get("default", {})
            if isinstance(default, dict):  # a section's stand in its own table
                default = default.get("grid", {})
            shown = f"`{json.dumps(default)}`" if default != {} else ""
            rows.append(f"| `{key}` | {_kind(field)} | {shown} | {told} |")
        if len(rows) > 2:
            yield "\n".join([*rows, ""])


def _methods() -> Iterator[str]:
    """The registry of methods."""
    yield "## What run may name\n"
    yield "| `run` | row of the tables | track | rule | options | given true environments |"
    yield "|---|---|---|---|---|---|"
    for name, method in METHODS.items():
        titles = ", ".join(row.title for row in method.rows)
        section, labels = f"`methods.{method.section}`", "yes" if method.labels else ""
        track = method.rows[0].track
        yield f"| `{name}` | {titles} | {track} | {method.rule} | {section} | {labels} |"
    yield ""


def _section(name: str) -> str:
    """Section that explains another: that of a method's options, if it is tuned."""
    return name.removeprefix("Tuned")


def _kind(field: Schema) -> str:
    """What may be written, in words."""
    match field:
        case {"anyOf": choices}:
            return " or ".join(dict.fromkeys(map(_kind, choices)))
        case {"$ref": target}:
            name = target.rpartition("/")[2]
            link = f"[{_section(name)}](#{_section(name).lower()})"
            return link if name == _section(name) else f"grid, selected, rules of {link}"
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"const": value}:
            return f"`{value}`"
        case {"type": "array"}:
            parts = field.get("prefixItems") or [field["items"], {"const": "..."}]
            return f"[{', '.join(map(_kind, parts))}]"
        case {"type": "object"}:
            names = _kind(field.get("propertyNames", {"const": "NAME"}))
            return f"{names}: {_kind(field['additionalProperties'])}"
    words = {"string": "text", "boolean": "true, false", "integer": "whole number"}
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "maximum": "≤"}
    bounds = [f" {sign} {field[key]:g}" for key, sign in signs.items() if key in field]
    kind = str(field["type"])
    return words.get(kind, kind) + ",".join(bounds)


if __name__ == "__main__":
    for path, content in pages(Path()).items():
        path.write_text(content, encoding="utf-8")
