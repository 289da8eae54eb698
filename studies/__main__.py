"""``python -m studies NAME FOLDER``: tables and figures of a study; goes on where it
was."""

import argparse
import functools
import importlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from kerhrm.files import write_text
from kerhrm_paper.reporting.figures import style
from kerhrm_paper.runs.checkpoints import Checkpoint
from studies.common import Unit


def tables(units: Iterable[Unit], checkpoint: Checkpoint) -> dict[str, pd.DataFrame]:
    """All units' rows by table; those of an earlier start are taken from its
    checkpoint."""
    found: dict[str, list[pd.DataFrame]] = {}
    for table, key, compute in units:
        unit = json.dumps([table, *key.values()])
        columns = checkpoint.once(unit, functools.partial(_arrays, compute))
        found.setdefault(table, []).append(pd.DataFrame(key | dict(columns)))
    return {table: pd.concat(rows, ignore_index=True) for table, rows in found.items()}


def _arrays(compute: Callable[[], pd.DataFrame]) -> dict[str, np.ndarray]:
    return {
        str(name): np.asarray(column.tolist()) for name, column in compute().items()
    }


parser = argparse.ArgumentParser(prog="python -m studies")
parser.add_argument(
    "name",
    choices=[
        "pretest",
        "labels",
        "drift",
        "heterogeneity",
        "starts",
        "scale",
        "real_tables",
    ],
)
parser.add_argument("folder", type=Path)
chosen = parser.parse_args()
study = importlib.import_module(f"studies.{chosen.name}")

checkpoint = Checkpoint(chosen.folder / f".{chosen.name}")
drawn = tables(study.units(), checkpoint)
summaries = study.summaries(drawn) if hasattr(study, "summaries") else ()
for name, frame in [*drawn.items(), *summaries]:
    write_text(chosen.folder / f"{name}.csv", frame.to_csv(index=False))
plt.switch_backend("agg")  # no window is needed
with style():
    for name, figure in study.figures(drawn) if hasattr(study, "figures") else ():
        figure.savefig(chosen.folder / f"{name}.png", dpi=150)
checkpoint.remove()
