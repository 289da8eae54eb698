"""The configuration's reference as Markdown: ``python -m kerhrm.paper.config.reference``."""

from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from kerhrm.features.nystroem import NystroemOptions
from kerhrm.methods.registry import METHODS
from kerhrm.networks.build import NetworkOptions
from kerhrm.options import Options
from kerhrm.paper.config import models
from kerhrm.paper.data.registry import DATA_SETS

WORDS: dict[Any, str] = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "true or false",
    Any: "anything",
    NoneType: "null",
}
FILES: dict[str, tuple[type[Options], ...]] = {
    "config.yaml, presets/NAME.yaml, --configfile, --config": (models.Whole,),
    "data/NAME.yaml": (models.DataSet, models.Setting, models.MoreSeeds, models.Tuning),
    "learners.yaml": (models.Learner, models.At),
    "tables/NAME.yaml": (models.Table, models.Cells),
    "choices.yaml": (models.Choice, models.Quotation, models.Alternative),
}


def reference() -> str:
    """All keys of all files, and the options of generators, networks, features and methods."""
    groups: dict[str, list[tuple[str, type[Options]]]] = {
        f"`{file}`": [(kind.__name__, kind) for kind in kinds] for file, kinds in FILES.items()
    }
    groups["Options of the data"] = [(name, one.options) for name, one in DATA_SETS.items()]
    groups["Options of networks and features"] = [
        ("network", NetworkOptions),
        ("features", NystroemOptions),
    ]
    groups["Options of the methods"] = [(name, one.options) for name, one in METHODS.items()]
    lines = ["# Configuration reference", ""]
    for title, kinds in groups.items():
        lines += [f"## {title}", ""]
        for name, kind in kinds:
            lines += [f"### {name}", "", (kind.__doc__ or "").split("\n\n")[0], ""]
            lines += ["| key | type | default | meaning |", "|---|---|---|---|", *_rows(kind), ""]
    return "\n".join(lines)


def _rows(kind: type[Options]) -> Iterator[str]:
    for name, field in kind.model_fields.items():
        default = "required" if field.is_required() else f"`{field.default!r}`"
        cells = (f"`{name}`", _type(field.annotation), default, field.description or "")
        yield f"| {' | '.join(' '.join(cell.split()).replace('|', '&#124;') for cell in cells)} |"


def _type(annotation: Any) -> str:
    """A field's type in words."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(args[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin in (list, dict):
        return f"{'list' if origin is list else 'mapping'} of {_type(args[-1])}"
    if args:
        return (", " if origin is tuple else " or ").join(map(_type, args))
    return WORDS.get(annotation, annotation.__name__)


if __name__ == "__main__":
    print(reference())
