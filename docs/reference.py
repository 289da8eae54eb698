"""The configuration's reference as Markdown: ``python docs/reference.py``."""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from kerhrm.features.options import FeatureOptions
from kerhrm.methods.registry import METHODS
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Options
from kerhrm_paper.config import schema as m
from kerhrm_paper.config.endpoints import Band, Endpoints, EndpointTable
from kerhrm_paper.config.real_tables import TableDescription
from kerhrm_paper.data.registry import DATA_SETS

README = Path(__file__).parents[1] / "config" / "README.md"
KEYS: dict[str, list[type[Options]]] = {
    "`config.yaml`, `presets/NAME.yaml`, `--configfile`, `--config`": [m.Whole],
    "`data/NAME.yaml`": [m.DataSet, m.DataAt, m.Tuning],
    "`learners.yaml`": [m.Learner, m.LearnerAt],
    "`tables/NAME.yaml`": [m.Table, m.TableData],
    "`choices.yaml`": [m.Choice, m.Alternative],
    "`endpoints.yaml`": [Endpoints, EndpointTable, Band],
    "`real_tables.yaml`": [TableDescription],
}
OPTIONS: dict[str, Mapping[str, Any]] = {
    "data": {name: one.options for name, one in DATA_SETS.items()},
    "networks and features": {"network": NetworkOptions, "features": FeatureOptions},
    "methods": {name: one.options for name, one in METHODS.items()},
}


def reference() -> str:
    """What ``config/README.md`` says, all keys of all files, and the options of
    generators, networks, features and methods."""
    groups = {
        file: {kind.__name__: kind for kind in kinds} for file, kinds in KEYS.items()
    }
    groups |= {f"Options of the {what}": {**kinds} for what, kinds in OPTIONS.items()}
    _, _, text = README.read_text("utf-8").partition("\n")
    lines = ["# Configuration reference", text]
    for title, kinds in groups.items():
        lines += [f"## {title}", ""]
        for name, kind in kinds.items():
            lines += [f"### {name}", "", (kind.__doc__ or "").split("\n\n")[0], ""]
            lines += [
                "| key | type | default | meaning |",
                "|---|---|---|---|",
                *_rows(kind),
                "",
            ]
    return "\n".join(lines)


def _rows(kind: type[Options]) -> Iterator[str]:
    hints = get_type_hints(kind)
    for name, field in kind.model_fields.items():
        default = "required" if field.is_required() else f"`{field.default!r}`"
        annotation = re.sub(
            r"\b[a-z_.]+\.(?=[A-Z])", "", inspect.formatannotation(hints[name])
        )
        cells = (f"`{name}`", f"`{annotation}`", default, field.description or "")
        texts = (" ".join(cell.split()).replace("|", r"\|") for cell in cells)
        yield f"| {' | '.join(texts)} |"


if __name__ == "__main__":
    print(reference())
