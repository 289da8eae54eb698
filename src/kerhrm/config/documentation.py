"""``docs/configuration.md`` and ``config/schema.json``, made from the models.

``python -m kerhrm.config.documentation`` writes them into the checkout at hand.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kerhrm.config.schema import SHARED, Config

Schema = dict[str, Any]
TABLE = ["| key | value | default | meaning |", "|---|---|---|---|"]
HEAD = """\
# Configuration

*Made by `python -m kerhrm.config.documentation`; `config/schema.json` says the same to editors.*

| where | what |
|---|---|
| `config/config.yaml`, `--config`, `--configfile` | the keys of [Config](#config), `experiments` \
and `methods` |
| `config/presets/*.yaml` | the same, but `preset` |
| `config/experiments/NAME.yaml` | one [Experiment](#experiment); besides, `data`, `methods` \
and `run` for all of its settings |
| `config/methods/NAME.yaml` | one section of [Methods](#methods) |
| `config/tuned/NAME.yaml`, `config/tuned/NAME-oracle.yaml` | what `tune` has chosen for an \
experiment |

Later ones win, mappings merge, everything else is replaced.

- Keys of the machine: the preset, `config.yaml`, `--configfile`, `--config`.
- Experiments: their file, then `experiments` in the order above. `null` leaves an experiment or a
  setting out; a new name adds one.
- Methods: defaults, their file, what `tune` has chosen, `methods` in the order above, the
  experiment's `methods`, the setting's.  Those that `tune` searches have a `grid` with the values
  on trial, in all combinations; the rest is as in `selected`, what the method's own rule has
  chosen. `oracle`: chosen on test data, a bound in rows of its own.

```yaml
# mine.yaml, for: snakemake --cores 2 mine --configfile mine.yaml
experiments:
  mine:
    title: Stronger noise
    table: mine
    seeds: 5
    run: [erm, kerhrm, igd]
    data: {generator: classification}
    settings:
      sigma=1: {data: {sigma_v: 1.0}}
      sigma=2: {data: {sigma_v: 2.0}}
```
"""


def schema() -> Schema:
    """JSON schema of a preset; of an experiment's file under ``$defs/Experiment``.

    Nothing is required, as files are laid over each other.
    """
    whole: Schema = _relaxed(Config.model_json_schema())
    setting, experiment = (whole["$defs"][n]["properties"] for n in ("Setting", "Experiment"))
    experiment |= {name: setting[name] for name in SHARED}
    whole["properties"]["methods"] = setting["methods"]
    for one in (experiment["settings"], whole["properties"]["experiments"]):
        one["additionalProperties"] = {"anyOf": [one["additionalProperties"], {"type": "null"}]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | whole


def pages() -> dict[str, str]:
    """Content of the files, by their path in the checkout."""
    full = _relaxed(Config.model_json_schema())
    return {
        "docs/configuration.md": "\n".join([HEAD, *_tables(full, full["$defs"])]),
        "config/schema.json": json.dumps(schema(), indent=1) + "\n",
    }


# pydantic's names of bounds that stand outside of a type
_NAMES = {"oneOf": "anyOf", "gt": "exclusiveMinimum", "ge": "minimum", "le": "maximum"}


def _relaxed(part: Any) -> Any:
    """A schema for files that say only a part, in which a choice need not be clear."""
    if isinstance(part, list):
        return [_relaxed(p) for p in part]
    if not isinstance(part, Mapping):
        return part
    dropped = {"required", "discriminator", "minProperties"}
    dropped |= {"title"} if isinstance(part.get("title"), str) else set()
    return {_NAMES.get(k, k): _relaxed(v) for k, v in part.items() if k not in dropped}


def _tables(whole: Schema, sections: Mapping[str, Schema]) -> Iterator[str]:
    """A table per section, each after the first that names it."""
    names = ["Config"]
    for name in names:  # grows
        section = sections.get(name, whole)
        yield f"## {name}\n\n{section['description']}\n"
        rows = []
        for key, field in section["properties"].items():
            named = [_section(n) for n in re.findall(r"\$defs/(\w+)", json.dumps(field))]
            names += [n for n in named if n not in names]
            told = field.get("description") or sections[named[0]]["description"].split("\n")[0]
            default = field.get("default", {})
            if isinstance(default, dict):  # a section's stand in its own table
                default = default.get("grid", {})
            shown = f"`{json.dumps(default)}`" if default != {} else ""
            rows.append(f"| `{key}` | {_kind(field)} | {shown} | {told} |")
        if rows:
            yield "\n".join([*TABLE, *rows, ""])


def _section(name: str) -> str:
    """Section that explains another: that of a method's options, if it is tuned."""
    return name.removeprefix("Tuned")


def _kind(field: Schema) -> str:
    """What may be written, in words."""
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(_kind, field["anyOf"])))
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        link = f"[{_section(name)}](#{_section(name).lower()})"
        return link if name == _section(name) else f"grid, selected, oracle of {link}"
    if "const" in field or "enum" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    kind: str = field["type"]
    if kind == "array":
        parts = field.get("prefixItems") or [field["items"], {"const": "..."}]
        return f"[{', '.join(map(_kind, parts))}]"
    if kind == "object":
        names = _kind(field.get("propertyNames", {"const": "NAME"}))
        return f"{names}: {_kind(field['additionalProperties'])}"
    words = {"string": "text", "boolean": "true, false", "integer": "whole number"}
    signs = {"exclusiveMinimum": ">", "minimum": "≥", "maximum": "≤"}
    bounds = [f" {sign} {field[key]:g}" for key, sign in signs.items() if key in field]
    return words.get(kind, kind) + ",".join(bounds)


if __name__ == "__main__":
    for path, content in pages().items():
        Path(path).write_text(content, encoding="utf-8")
