"""What pydantic finds wrong, in words: where, and the cure."""

from typing import Any

from pydantic import BaseModel, ValidationError

from kerhrm.config.files import MAPPING, Key
from kerhrm.config.names import suggest
from kerhrm.config.schema import SHARED, Config, Experiment
from kerhrm.data.registry import DATA_SETS
from kerhrm.entries import load

_CURES = {
    **dict.fromkeys(("list_type", "tuple_type"), "write a list"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "write a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "write a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "write true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), MAPPING),
    "string_type": "write text",
    "string_too_short": "write some text",
    "too_short": "write at least {min_length}",
    "too_long": "write at most {max_length}",
    "greater_than": "write a number above {gt}",
    "greater_than_equal": "write a number of at least {ge}",
    "less_than_equal": "write a number of at most {le}",
    "literal_error": "choose {expected}",
    "union_tag_not_found": "generator is missing; add it",
}


def first_finding(error: ValidationError) -> tuple[Key, str, bool]:
    """Key in the resolved tree, cure, and whether the key is missing there.

    A key that is not known goes first, as another one may be missing because of it.
    """
    found = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    kind, place, context = found["type"], found["loc"], found.get("ctx", {})
    # pydantic adds the member of the data union, and a mark to a wrong key of a mapping
    key = tuple(p for i, p in enumerate(place) if p != "[key]" and (i != 5 or place[4] != "data"))
    if kind == "missing":
        return key, f"{key[-1]} is missing; add it", True
    if kind == "extra_forbidden":
        return key, f"no such key; {suggest(str(key[-1]), _beside(place))}", False
    if kind == "union_tag_invalid":
        told = f"no such data set; {suggest(context['tag'], DATA_SETS)}"
        return (*key, "generator"), told, False
    told = _CURES.get(kind, "").format(**context)
    return key, told or found["msg"].removeprefix("Value error, "), False


def _beside(place: Key) -> list[str]:
    """Keys that may stand where a wrong one stands."""
    kinds: list[Any] = [Config]
    for part in place[:-1]:
        if len(kinds) > 1:  # the data union; the part is the chosen member's name
            kinds = [load(DATA_SETS[part].options)]
        elif part in _fields(kinds[0]):
            kinds = _models(_fields(kinds[0])[part])
    more = {Config: ["methods"], Experiment: list(SHARED)}
    return [*_fields(kinds[0]), *more.get(kinds[0], [])]


def _fields(kind: Any) -> dict[str, Any]:
    if issubclass(kind, BaseModel):
        return {name: field.annotation for name, field in kind.model_fields.items()}
    return dict(kind.__annotations__)


def _models(annotation: Any) -> list[Any]:
    """Models and typed dictionaries in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, (BaseModel, dict)):
        return [annotation]
    return [m for part in getattr(annotation, "__args__", ()) for m in _models(part)]
