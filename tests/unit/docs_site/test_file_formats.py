"""docs/files.md tells the columns and arrays that there are."""

import re
from dataclasses import fields

import pytest
from documents import ROOT
from torch import Tensor

from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.data.predictions import Trial
from kerhrm.heterogeneity.records import HeterogeneityTest
from kerhrm.scoring.metrics import COLUMNS

PAGE = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
NAME = re.compile(r"`(\w+)`")


def table(name: str) -> list[list[str]]:
    """Rows of the table below a comment."""
    below = PAGE.split(f"<!-- {name} -->\n\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in row.split(" | ")] for row in below.splitlines()[2:]]


def columns(name: str) -> set[str]:
    return {column for row in table(f"columns: {name}") for column in NAME.findall(row[0])}


def test_columns_of_tables() -> None:
    header = (ROOT / "results/reference/tables/table1.csv").read_text(encoding="utf-8")
    assert columns("tables") == set(header.partition("\n")[0].split(","))


def test_columns_of_scores() -> None:
    assert columns("scores") == set(COLUMNS)


@pytest.mark.parametrize(
    ("file", "record"),
    [
        ("features/training.npz", Problem),
        ("features/test.npz", TestFeatures),
        ("heterogeneity.npz", HeterogeneityTest),
        ("iterations/T/environments.npz", Environments),
        ("iterations/T/theta.npz", Directions),
        ("direction.npz", FinalDirection),
        ("predictions/METHOD.npz", Trial),
    ],
)
def test_arrays_of_a_setting(file: str, record: type) -> None:
    (told,) = [row[1] for row in table("arrays: setting") if row[0] == f"| `{file}`"]
    assert set(NAME.findall(told)) == {f.name for f in fields(record) if f.type is Tensor}
