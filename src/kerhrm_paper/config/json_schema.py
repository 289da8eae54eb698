"""JSON schemas of the files in ``config/``, by which editors complete and check them.

``python -m kerhrm_paper.config.json_schema`` renews ``config/schemas/``.  Each file's
first line names its schema.  They say less than Snakemake's own check does, which also
knows names and options.
"""

import json
from typing import Any

from pydantic import TypeAdapter

from kerhrm.files import write_text
from kerhrm_paper.config.endpoints import Endpoints
from kerhrm_paper.config.layout import CHECKOUT
from kerhrm_paper.config.real_tables import TableDescription
from kerhrm_paper.config.schema import (
    Choice,
    DataSet,
    Learner,
    OfLearners,
    Table,
    Whole,
)

Schema = dict[str, Any]

FOLDER = CHECKOUT / "config" / "schemas"
#: what the paper prints: by table, setting, method as printed, and metric
PaperValues = dict[str, dict[str, dict[str, dict[str, float]]]]


def json_schemas() -> dict[str, Schema]:
    """Schema by the name of its file.

    ``config`` is of ``config.yaml``, of presets and of files of one's own, which change
    some keys of the others, and delete an entry by ``null``.
    """
    # a preset that changes nothing is an empty file
    whole = _changes(_whole())
    whole["type"] = ["object", "null"]
    return {
        "config": whole,
        "data": DataSet.model_json_schema(),
        "table": _listed(Table.model_json_schema()),
        "learners": _by_name(Learner.model_json_schema()),
        "choices": _by_name(Choice.model_json_schema()),
        "labels": TypeAdapter(dict[str, str]).json_schema(),
        "selected": TypeAdapter(OfLearners).json_schema(),
        "paper_values": TypeAdapter(PaperValues).json_schema(),
        "endpoints": Endpoints.model_json_schema(),
        "real_tables": _by_name(TableDescription.model_json_schema()),
    }


def _whole() -> Schema:
    """All files together."""
    schema = Whole.model_json_schema()
    tables = schema["$defs"]["Table"]
    schema["$defs"]["Table"] = _listed(tables)
    return schema


def _listed(schema: Schema) -> Schema:
    """The same, with a list of names in place of data without changes."""
    item = {"type": "string"}
    names = {"type": "array", "items": item, "minItems": 1}
    data = schema["properties"]["data"]
    one_or_several = {"anyOf": [data, names]}
    schema["properties"]["data"] = one_or_several
    return schema


def _by_name(schema: Schema) -> Schema:
    """Schema of a file whose keys are names."""
    definitions = schema.pop("$defs", {})
    return {"$defs": definitions, "type": "object", "additionalProperties": schema}


def _changes(schema: Any) -> Any:
    """The same keys, of which none is required, and any entry may be ``null``."""
    if isinstance(schema, list):
        return [_changes(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {}
    for key, part in schema.items():
        if key != "required":
            changed[key] = _changes(part)
    entries = changed.get("additionalProperties")
    if isinstance(entries, dict):
        null = {"type": "null"}
        or_null = {"anyOf": [entries, null]}
        changed["additionalProperties"] = or_null
    return changed


def text_of(schema: Schema) -> str:
    """A schema as its file holds it."""
    text = json.dumps(schema, indent=1, ensure_ascii=False)
    return f"{text}\n"


if __name__ == "__main__":
    for name, schema in json_schemas().items():
        text = text_of(schema)
        write_text(FOLDER / f"{name}.json", text)
