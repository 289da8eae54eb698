"""A plan of your own table refuses what the rows that its page draws do not fit."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from refusals import refusal

from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.config.own_table_rows import check_table


def table_of(y: Any, **columns: Any) -> pd.DataFrame:
    """Rows with a target ``y`` (n,), two columns of numbers, and others."""
    random = np.random.default_rng(0)
    x = random.normal(size=(len(y), 2))
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], **columns, "y": y})


def check(table: pd.DataFrame, **more: Any) -> None:
    keys = OwnTable(csv="t.csv", target="y", **more)
    check_table(keys, table)


@pytest.mark.parametrize(
    ("y", "more", "told"),
    [
        (["no"] * 59 + ["yes"], {}, "'no' in .* give more rows with the other label$"),
        ([0.0] * 59 + [5.5], {}, "0.0 in .* give more rows with the other label$"),
        (
            [0.0] * 59 + [5.5],
            {"task": "regression"},
            "0.0 in .* give more rows with other values$",
        ),
    ],
)
def test_a_target_that_varies_in_no_row_that_trains_is_refused(
    y: list[Any], more: dict[str, Any], told: str
) -> None:
    """All rows together have two values."""
    with refusal(rf"^csv=t\.csv: the target 'y' is {told}"):
        check(table_of(y), **more)


def test_one_more_row_of_the_other_label_is_the_cure() -> None:
    check(table_of(["no"] * 59 + ["yes"] * 2))


def test_a_share_that_leaves_no_row_of_a_label_is_named() -> None:
    table = table_of(["no"] * 59 + ["yes"] * 2)
    with refusal("'no' in all training rows; set test_share=0.3$"):
        check(table, test_share=0.9)
    check(table, test_share=0.3)


def test_groups_held_out_may_have_the_other_label() -> None:
    groups = ["u"] * 60 + ["v"]
    table = table_of(["no"] * 59 + ["yes"] * 2, g=groups)
    with refusal("; hold fewer out, or give more rows with the other label$"):
        check(table, group="g", held_out="v")
    check(table, group="g")


def test_copies_leave_fewer_rows_than_the_share_says() -> None:
    """Ten copies of 22 rows all train, or all test."""
    rows = table_of(np.arange(22.0))
    table = pd.concat([rows] * 10, ignore_index=True)
    with refusal("22 different rows are too few .*; set test_share=0.3$"):
        check(table, test_share=0.97)
    check(table)


def test_text_that_names_the_rows_that_train_describes_none() -> None:
    """Five rows have one word, but not all of them train."""
    words = ["w"] * 5 + [f"w{n}" for n in range(55)]
    table = pd.DataFrame({"s": words, "y": np.arange(60.0)})
    with refusal(r"^csv=t\.csv: no column is left that predicts besides 's'"):
        check(table)
    check(table.assign(a=np.arange(60.0)))


def test_more_groups_than_rows_that_train_are_no_fault() -> None:
    names = [f"g{n // 2}" for n in range(2000)]
    check(table_of(np.arange(2000.0), g=names), group="g")
