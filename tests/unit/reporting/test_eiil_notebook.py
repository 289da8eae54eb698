"""The figure of EIIL over its reference's steps is drawn from any table of its shape."""

from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
from matplotlib import image

from kerhrm.reporting.notebooks import execute
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "eiil_reference.ipynb"


def scores() -> pd.DataFrame:
    """Two seeds; the setting without a number of steps is that of 50 steps."""
    values = {"": 0.75, ",reference=50": 0.75, ",reference=200": 0.6}
    rows = [
        {"setting": f"r2={r2}{steps}", "method": method, "metric": "test_acc", "seed": seed,
         "value": value + seed / 50, "selection": selection, "data_source": "synthetic",
         "reason": ""}
        for r2 in ("0.70", "0.80")
        for steps, value in values.items()
        for method, selection in (("EIIL", "pooled validation"), ("ref: majority", "none"))
        for seed in range(2)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_figure_is_drawn_and_its_numbers_shown(tmp_path: Path) -> None:
    table = build_table(scores(), "eiil_reference", "paper", PaperValues({}))
    table.to_csv(tmp_path / "table.csv", index=False)
    parameters = {"title": "Steps", "about": "What it is about.", "preset": "paper",
                  "table_csv": str(tmp_path / "table.csv"),
                  "figure_stem": str(tmp_path / "figure")}  # fmt: skip
    execute(NOTEBOOK, tmp_path / "out.ipynb", parameters)
    cells = nbformat.read(tmp_path / "out.ipynb", 4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = [o["data"]["text/markdown"] for o in outputs if "text/markdown" in o["data"]]
    assert shown[0] == "# Steps\n\nWhat it is about."
    assert "reference=200" in shown[1]
    pixels = image.imread(tmp_path / "figure.png")
    assert np.ptp(pixels[..., :3]) > 0.5
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF-")
