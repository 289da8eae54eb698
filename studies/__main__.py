"""``python -m studies NAME FOLDER``: tables and figures of a study; goes on where it was."""

import argparse
import importlib
from pathlib import Path

import matplotlib.pyplot as plt

from kerhrm.paper.runs.arrays import write_text
from kerhrm.paper.runs.checkpoints import Checkpoint
from studies.common import STYLE, tables

parser = argparse.ArgumentParser(prog="python -m studies")
parser.add_argument("name", choices=["heterogeneity", "starts", "scale", "real_tables"])
parser.add_argument("folder", type=Path)
chosen = parser.parse_args()
study = importlib.import_module(f"studies.{chosen.name}")

checkpoint = Checkpoint(chosen.folder / f".{chosen.name}")
drawn = tables(study.units(), checkpoint)
for name, frame in [*drawn.items(), *study.summaries(drawn)]:
    write_text(chosen.folder / f"{name}.csv", frame.to_csv(index=False))
with plt.style.context(STYLE):
    for name, figure in study.figures(drawn) if hasattr(study, "figures") else ():
        figure.savefig(chosen.folder / f"{name}.png", dpi=150)
checkpoint.remove()
