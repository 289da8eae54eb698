"""The configuration's reference as Markdown: ``python -m kerhrm.paper.config.reference``."""

import inspect
import re
from collections.abc import Iterator
from typing import get_type_hints

from kerhrm.features.nystroem import NystroemOptions
from kerhrm.methods.registry import METHODS
from kerhrm.networks.build import NetworkOptions
from kerhrm.options import Options
from kerhrm.paper.config import models
from kerhrm.paper.data.registry import DATA_SETS

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
    hints = get_type_hints(kind)
    for name, field in kind.model_fields.items():
        default = "required" if field.is_required() else f"`{field.default!r}`"
        annotation = re.sub(r"\b[a-z_.]+\.(?=[A-Z])", "", inspect.formatannotation(hints[name]))
        cells = (f"`{name}`", f"`{annotation}`", default, field.description or "")
        texts = (" ".join(cell.split()).replace("|", r"\|") for cell in cells)
        yield f"| {' | '.join(texts)} |"


if __name__ == "__main__":
    print(reference())
