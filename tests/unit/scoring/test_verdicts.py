"""The written rule, on made-up cells."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.reporting.tables import METRIC_NAMES
from kerhrm.scoring.verdicts import CRITERIA, verdict

NAN = float("nan")


def judge(metric: str, mean: float, paper: float | None, half: float = 0.0, **more: Any) -> str:
    facts = {"comparable": True, "failed": False} | more
    return verdict(
        mean=mean, ci_low=mean - half, ci_high=mean + half, paper=paper, metric=metric, **facts
    )


@pytest.mark.parametrize(
    ("metric", "mean", "paper", "half", "expected"),
    [
        ("test_acc", 0.76, 0.70, 0.0, "better"),
        ("test_acc", 0.60, 0.70, 0.0, "worse"),
        ("test_acc", 0.71, 0.70, 0.0, "reproduced"),  # .71 - .70 > .01 in binary
        ("test_acc", 0.7101, 0.70, 0.0, "better"),
        ("test_acc", 0.76, 0.70, 0.06, "reproduced"),
        ("test_acc", 0.76, 0.70, 0.0599, "better"),
        ("train_acc", 0.80, 0.85, 0.0, "worse"),
        ("train_acc", 0.90, 0.85, 0.0, "better"),
        ("generalisation_gap", -0.05, -0.30, 0.0, "better"),
        ("generalisation_gap", -0.40, -0.30, 0.0, "worse"),
        ("generalisation_gap", 0.10, -0.30, 0.0, "better"),
        ("generalisation_gap", 0.50, -0.30, 0.0, "worse"),
        ("generalisation_gap", 0.30, -0.30, 0.0, "worse"),  # a tie is no improvement
        ("generalisation_gap", -0.31, -0.30, 0.0, "reproduced"),
        ("mean_error", 2.0, 4.0, 0.0, "better"),
        ("mean_error", 4.2, 4.0, 0.0, "reproduced"),
        ("mean_error", 4.21, 4.0, 0.0, "worse"),
        ("std_error", 0.21, 0.20, 0.0, "reproduced"),
        ("std_error", 0.19, 0.20, 0.0, "reproduced"),
        ("std_error", 0.18, 0.20, 0.0, "better"),
    ],
)
def test_made_up_cells(metric: str, mean: float, paper: float, half: float, expected: str) -> None:
    assert judge(metric, mean, paper, half) == expected


def test_what_comes_first() -> None:
    assert judge("test_acc", NAN, 0.7, failed=True) == "failed"
    assert judge("test_acc", NAN, None, failed=True) == "failed"
    assert judge("test_acc", NAN, 0.7, failed=True, comparable=False) == "failed"
    assert judge("test_acc", 0.7, None) == ""
    assert judge("test_acc", 0.7, None, comparable=False) == ""
    assert judge("test_acc", 0.7, 0.7, comparable=False) == "not comparable"


numbers = st.floats(0.01, 10)
metrics = st.sampled_from(["test_acc", "train_acc", "mean_error", "std_error"])


@given(metric=metrics, mean=numbers, paper=numbers, half=st.floats(0, 5))
def test_the_paper_within_our_interval_is_reproduced(
    metric: str, mean: float, paper: float, half: float
) -> None:
    found = judge(metric, mean, paper, half)
    assert found in {"reproduced", "better", "worse"}
    if abs(mean - paper) < half:
        assert found == "reproduced"
    elif found == "reproduced":
        tolerance = 0.01 if metric.endswith("acc") else 0.05 * paper
        assert min(abs(mean - paper) - half, abs(mean - paper) - tolerance) <= 1e-6


@given(metric=metrics, mean=numbers, paper=numbers)
def test_who_is_better_than_the_other(metric: str, mean: float, paper: float) -> None:
    forth, back = judge(metric, mean, paper), judge(metric, paper, mean)
    if forth == "better":
        assert back in {"worse", "reproduced"}  # a relative tolerance is not symmetric
        assert (mean > paper) == metric.endswith("acc")
    if forth == back:
        assert forth == "reproduced"


@given(mean=st.floats(-1, 1), paper=st.floats(-1, 1))
def test_a_gaps_sign_does_not_make_it_better(mean: float, paper: float) -> None:
    if judge("generalisation_gap", mean, paper) == "better":
        assert abs(mean) < abs(paper)


@given(mean=numbers, paper=numbers, step=st.floats(0, 5))
def test_a_larger_accuracy_is_never_judged_worse(mean: float, paper: float, step: float) -> None:
    rank = ["worse", "reproduced", "better"]
    lower, higher = judge("test_acc", mean, paper), judge("test_acc", mean + step, paper)
    assert rank.index(higher) >= rank.index(lower)


def test_every_metric_of_the_tables_has_a_criterion() -> None:
    assert set(CRITERIA) == set(METRIC_NAMES)
    for criterion in CRITERIA.values():
        assert 0 < criterion.tolerance < 0.1
        assert math.isclose(
            criterion.margin(-4.0), criterion.tolerance * (4 if criterion.relative else 1)
        )
