"""A method's own row goes before its others, however a table names them."""

from typing import Any

import pandas as pd
import pytest
from small_config import A, B, Load

from kerhrm_paper.config.views import TableView
from kerhrm_paper.evaluation.tables import primary

DEFAULTS = "erm+select=none"
ORACLE = "erm+select=oracle"


def table(load: Load, learners: list[str], select: list[str]) -> TableView:
    content = {"title": "T", "data": [A, B], "learners": learners, "select": select}
    return load(tables={"new": content}).tables["new"]


def shown(view: TableView, data: str) -> list[str]:
    return [row.learner for row in view.rows if row.data == data]


@pytest.mark.parametrize(
    ("learners", "select", "names"),
    [
        (["erm"], ["own", "none", "oracle"], ["erm", DEFAULTS, ORACLE]),
        (["erm"], ["none", "oracle", "own"], ["erm", DEFAULTS, ORACLE]),
        (["erm"], ["none", "pooled"], ["erm", DEFAULTS]),
        ([DEFAULTS, "erm"], ["own"], ["erm", DEFAULTS]),
        (
            [ORACLE, "kerhrm", DEFAULTS, "erm"],
            ["own"],
            ["erm", "kerhrm", ORACLE, DEFAULTS],
        ),
        # without a row of its own: what was chosen on test points is the last to count
        ([ORACLE, DEFAULTS], ["own"], [DEFAULTS, ORACLE]),
        (["erm"], ["oracle", "none"], [DEFAULTS, ORACLE]),
        # other options are another setting
        (["erm+steps=1", DEFAULTS], ["own"], ["erm+steps=1", DEFAULTS]),
    ],
)
def test_own_rows_go_before_those_of_other_criteria(
    load: Load, learners: list[str], select: list[str], names: list[str]
) -> None:
    view = table(load, learners, select)
    assert shown(view, A) == names
    assert shown(view, B) == names


@pytest.mark.parametrize(
    "content",
    [
        {"learners": ["erm"], "select": ["none", "oracle", "own"]},
        {"learners": [ORACLE, DEFAULTS, "erm"], "select": ["own"]},
    ],
)
def test_the_headline_is_of_the_own_criterion_in_any_order(
    load: Load, content: dict[str, Any]
) -> None:
    view = table(load, **content)
    cells = pd.DataFrame(
        {
            "data": row.data,
            "setting": row.setting,
            "method": "ERM",
            "metric": "test_acc",
            "selection": row.selection,
        }
        for row in view.rows
    )
    headline = cells[primary(cells)]
    assert headline["data"].tolist() == [A, B]
    assert set(headline["selection"]) == {"pooled validation"}
