"""What the selection rule has chosen, from files to a table."""

from pathlib import Path

import numpy as np
import pandas as pd

from kerhrm.reporting.choices import COLUMNS, choice_counts, choice_report
from kerhrm.storage.arrays import save_arrays


def direction(path: Path, k: list[int], alpha: list[float], iteration: list[int]) -> Path:
    chosen = {"k": np.array(k), "alpha": np.array(alpha), "iteration": np.array(iteration)}
    save_arrays(path, {"theta": np.zeros((len(k), 25))} | chosen, {})
    return path


def test_a_row_for_every_seed(tmp_path: Path) -> None:
    first = direction(tmp_path / "a.npz", [10, 25, 10], [0.0, 0.1, 0.0], [1, 1, 3])
    second = direction(tmp_path / "b.npz", [15, 15, 20], [1.0, 1.0, 10.0], [2, 2, 2])
    network = tmp_path / "n.npz"
    save_arrays(network, {"test": np.zeros((3, 2))}, {"penalty": [10.0, 1000.0, 10.0]})
    test = tmp_path / "h.npz"
    save_arrays(test, {"p_value": np.array([0.05, 0.6, 0.25])}, {})
    files = [first, second], {"a=1": network}, {"b=2": test}
    report = choice_report(*files, ["a=1", "b=2"], [4, 0, 9])
    assert list(report.columns) == COLUMNS
    assert report.iloc[1].tolist()[:-1] == ["a=1", 0, 25, 0.1, 1, 1000.0]
    assert report["p"].isna().tolist() == [True] * 3 + [False] * 3
    assert report.iloc[5][:5].tolist() == ["b=2", 9, 20, 10.0, 2]
    assert report["lambda"].isna().tolist() == [False] * 3 + [True] * 3
    text = choice_counts({"mine": report, "other": report.head(0)})
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines()]
    assert cells[2] == ["mine", "a=1", "10 (2), 25 (1)", "0 (2), 0.1 (1)", "1 (2), 3 (1)",
                        "10 (2), 1000 (1)", ""]  # fmt: skip
    expected = ["mine", "b=2", "15 (2), 20 (1)", "1 (2), 10 (1)", "2 (3)", "", "0.05 to 0.60"]
    assert cells[3] == expected


def test_where_nothing_is_chosen_it_says_so() -> None:
    assert choice_counts({"mine": pd.DataFrame(columns=COLUMNS)}).startswith("Nothing here")
