"""Failed cells, one line each."""

from pathlib import Path

import pandas as pd

from kerhrm.reporting.failures import failures
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.tables import build_table

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]


def write(path: Path, table: str, rows: list[tuple[object, ...]]) -> Path:
    scores = pd.DataFrame(rows, columns=COLUMNS)
    cells = build_table(scores, table, "smoke", PaperValues({}), resamples=20)
    cells.to_csv(path / f"{table}.csv", index=False)
    return path / f"{table}.csv"


def test_failed_cells_are_listed_and_no_others(tmp_path: Path) -> None:
    pooled = ("pooled validation", "synthetic")
    paths = [
        write(tmp_path, "table1", [
            ("r2=0.70", "ERM", 0, "test_acc", 0.5, *pooled, ""),
            ("r2=0.70", "DRO", 0, "test_acc", float("nan"), *pooled, "diverged"),
            ("r2=0.70", "DRO", 1, "test_acc", 0.5, *pooled, ""),
        ]),
        write(tmp_path, "table2", [("r2=0.80", "IRM", 0, "test_acc", 0.5, *pooled, "")]),
        write(tmp_path, "table3", [
            ("scenario=1,r=1.5", "EIIL", 0, "mean_error", float("nan"), *pooled, ""),
        ]),
    ]  # fmt: skip
    assert failures(paths) == [
        "table1 | r2=0.70 | DRO, pooled validation | test_acc: diverged (1 of 2 seeds)",
        "table3 | scenario=1,r=1.5 | EIIL, pooled validation | mean_error: no value (1 of 1 seeds)",
    ]
    assert failures(paths[1:2]) == []
