"""Two labels: which one the numbers of a report are of, and in which order."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm.cli import main
from kerhrm.tables.oddities import as_labels

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
N = 100


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(5)
    table = pd.DataFrame({"a": random.normal(size=N), "b": random.normal(size=N)})
    turn = np.where(random.random(N) < 0.2, -0.5, 0.5)
    return table.assign(high=table["a"] + turn * table["b"] > 0)


def report(table: pd.DataFrame, low: object, high: object, path: Path) -> str:
    """What the command prints of the table with two labels."""
    y = np.where(table["high"], high, low)
    columns = table[["a", "b"]].assign(y=y)
    columns.to_csv(path, index=False)
    with redirect_stdout(StringIO()) as printed:
        assert main(["check", str(path), "--target", "y", "--quiet"]) == 0
    return printed.getvalue()


@pytest.fixture(scope="module")
def expected(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    return report(table, 9, 10, tmp_path_factory.mktemp("two") / "rows.csv")


@pytest.mark.parametrize(
    ("low", "high", "label"),
    [
        (9.5, 10.5, "2: 10.5"),
        (-2.5, -1.5, "2: -1.5"),
        (1.5, 2.5, "2.5"),
        ("no", "yes", "yes"),
    ],
)
def test_the_same_rows_with_other_labels(
    table: pd.DataFrame,
    expected: str,
    tmp_path: Path,
    low: object,
    high: object,
    label: str,
) -> None:
    words = "in shares of label"
    assert f"{words} 10" in expected
    text = report(table, low, high, tmp_path / "rows.csv")
    assert text == expected.replace(f"{words} 10", f"{words} {label}")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2**60 + 1, 2**60], [str(2**60 + 1), str(2**60)]),
        ([-(2**60) - 1, -(2**60)], [f"1: {-(2**60) - 1}", f"2: {-(2**60)}"]),
    ],
)
def test_whole_numbers_that_float64_cannot_tell_apart(
    values: list[int], expected: list[str]
) -> None:
    labels = as_labels(pd.Series(values, index=[7, 7]))
    assert labels.tolist() == expected
    assert labels.index.tolist() == [7, 7]
