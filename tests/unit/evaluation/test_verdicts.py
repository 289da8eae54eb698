"""The written rule, on made-up cells."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from kerhrm.paper.evaluation.tables import CRITERIA, RESULTS, Measured, judge

NAN = float("nan")
DIFFERENT = {"better", "worse", "different"}


def judged(cells: list[Measured], criteria: Any = CRITERIA) -> list[SimpleNamespace]:
    return [SimpleNamespace(**one) for one in judge(cells, criteria)]


def cell(metric: str, mean: float, paper: float, std: float = 0.001, n: int = 10) -> Measured:
    return Measured(metric, mean, std, n, paper, 10)


def alone(
    metric: str, mean: float, paper: float, std: float = 0.001, n: int = 10
) -> SimpleNamespace:
    """The judgement of a cell that is its whole table."""
    (found,) = judged([cell(metric, mean, paper, std, n)])
    return found


@pytest.mark.parametrize(
    ("metric", "mean", "paper", "std", "expected"),
    [
        ("test_acc", 0.700, 0.70, 0.001, "reproduced"),
        ("test_acc", 0.719, 0.70, 0.001, "reproduced"),  # another mean, and near enough
        ("test_acc", 0.681, 0.70, 0.001, "reproduced"),
        ("test_acc", 0.721, 0.70, 0.001, "better"),
        ("test_acc", 0.679, 0.70, 0.001, "worse"),
        ("test_acc", 0.700, 0.70, 0.200, "inconclusive"),
        ("test_acc", 0.760, 0.70, 0.200, "inconclusive"),
        ("test_acc", 0.719, 0.70, 0.010, "better"),
        ("train_acc", 0.80, 0.85, 0.001, "different"),
        ("train_acc", 0.90, 0.85, 0.001, "different"),
        ("generalisation_gap", -0.05, -0.30, 0.001, "better"),
        ("generalisation_gap", -0.40, -0.30, 0.001, "worse"),
        ("generalisation_gap", 0.10, -0.30, 0.001, "better"),
        ("generalisation_gap", 0.50, -0.30, 0.001, "worse"),
        ("generalisation_gap", 0.30, -0.30, 0.001, "different"),
        ("mean_error", 2.0, 4.0, 0.01, "better"),
        ("mean_error", 4.3, 4.0, 0.01, "reproduced"),
        ("mean_error", 3.7, 4.0, 0.01, "reproduced"),
        ("mean_error", 4.5, 4.0, 0.01, "worse"),
        ("error_sd", 0.21, 0.20, 0.001, "reproduced"),
        ("error_sd", 0.15, 0.20, 0.001, "better"),
    ],
)
def test_made_up_cells(metric: str, mean: float, paper: float, std: float, expected: str) -> None:
    assert alone(metric, mean, paper, std).verdict == expected


def test_by_hand() -> None:
    """Ten seeds and ten runs, all with deviation .02."""
    found = alone("test_acc", 0.715, 0.70, 0.02)
    error = 0.02 * math.sqrt(1 / 10 + 1 / 10)
    t = scipy.stats.t(9)
    assert found.p_differs == pytest.approx(2 * t.sf(0.015 / error))
    assert found.p_agrees == pytest.approx(t.sf((0.02 - 0.015) / error))
    assert found.margins == pytest.approx((0.015 + t.ppf(0.95) * error) / 0.02)
    assert found.verdict == "inconclusive"


@pytest.mark.parametrize(("std", "n"), [(NAN, 1), (NAN, 10)])
def test_nothing_is_said_of_a_single_seed(std: float, n: int) -> None:
    found = alone("test_acc", 0.7, 0.7, std, n)
    assert found.verdict == "inconclusive"
    assert all(map(math.isnan, (found.p_agrees, found.p_differs)))


def test_seeds_without_a_spread_decide_by_the_margin_alone() -> None:
    found = [alone("test_acc", mean, 0.7, 0.0).verdict for mean in (0.7, 0.715, 0.73)]
    assert found == ["reproduced", "reproduced", "better"]


def test_differences_are_corrected_within_the_table() -> None:
    one, clear = cell("test_acc", 0.75, 0.70, 0.04), cell("test_acc", 0.9, 0.5, 0.01)
    assert judged([one])[0].verdict == "better"
    family = judged([one, clear, *[cell("test_acc", 0.7, 0.7, 0.04)] * 8])
    assert [j.verdict for j in family[:2]] == ["inconclusive", "better"]
    assert family[0].p_differs == pytest.approx(9 * judged([one])[0].p_differs)
    assert judged([]) == []


def test_a_table_in_which_all_is_equal_shows_a_difference_once_in_twenty() -> None:
    """Ten seeds of ours and ten runs of the paper's, twelve cells a table."""
    rng = np.random.default_rng(0)
    ours, papers = rng.normal(0.7, 0.05, (400, 12, 10)), rng.normal(0.7, 0.05, (400, 12, 10))
    found = [
        {j.verdict for j in judged([Measured("test_acc", a.mean(), a.std(ddof=1), 10, b.mean(), 10)
                                   for a, b in zip(*table, strict=True)])}
        for table in zip(ours, papers, strict=True)
    ]  # fmt: skip
    wrong = np.mean([bool(verdicts & DIFFERENT) for verdicts in found])
    assert 0.01 < wrong < 0.08


metrics = st.sampled_from(["test_acc", "train_acc", "mean_error", "error_sd"])
cells = st.builds(
    Measured, metrics, st.floats(0.01, 5), st.floats(0, 0.5), st.integers(2, 20),
    st.floats(0.1, 5), st.sampled_from([5, 10]),
)  # fmt: skip


@given(table=st.lists(cells, max_size=6))
def test_every_cell_gets_one_verdict_with_its_reason(table: list[Measured]) -> None:
    for one, found in zip(table, judged(table), strict=True):
        assert found.verdict in DIFFERENT | {"reproduced", "inconclusive"}
        assert (found.verdict == "reproduced") == (found.p_agrees <= 0.05)
        if abs(found.margins - 1) > 1e-9:
            assert (found.verdict == "reproduced") == (found.margins <= 1)
        if found.verdict in DIFFERENT:
            assert found.p_differs <= 0.05
            assert (found.verdict == "different") == (one.metric == "train_acc")
        if found.verdict in ("better", "worse"):
            above = one.mean > one.paper
            assert (found.verdict == "better") == (above == (one.metric == "test_acc"))
        if found.verdict == "inconclusive":
            assert min(found.p_agrees, found.p_differs) > 0.05


@given(table=st.lists(cells, min_size=1, max_size=5), factor=st.floats(1, 5))
def test_a_wider_margin_never_turns_agreement_into_difference(
    table: list[Measured], factor: float
) -> None:
    wide = {m: replace(c, tolerance=factor * c.tolerance) for m, c in CRITERIA.items()}
    for narrow, wider in zip(judged(table), judged(table, wide), strict=True):
        assert wider.p_differs == narrow.p_differs
        assert wider.margins == pytest.approx(narrow.margins / factor)
        if narrow.verdict == "reproduced":
            assert wider.verdict == "reproduced"
        if wider.verdict in DIFFERENT:
            assert narrow.verdict == wider.verdict


@given(one=cells, distance=st.floats(0, 1))
def test_verdicts_above_and_below_mirror_each_other(one: Measured, distance: float) -> None:
    assume(distance == 0 or distance > 1e-6)
    above, below = (replace(one, mean=one.paper + s * distance) for s in (1, -1))
    (up,), (down,) = judged([above]), judged([below])
    assume(abs(up.margins - 1) > 1e-6)
    assume(min(abs(up.p_differs - 0.05), abs(up.p_agrees - 0.05)) > 1e-6)
    mirror = {"better": "worse", "worse": "better"}
    assert down.verdict == mirror.get(up.verdict, up.verdict)
    assert down.p_differs == pytest.approx(up.p_differs)
    assert down.p_agrees == pytest.approx(up.p_agrees)


@given(one=cells, shrink=st.floats(0, 1))
def test_less_spread_never_makes_a_decided_cell_inconclusive(one: Measured, shrink: float) -> None:
    assume(abs(one.mean - one.paper) > 1e-6)
    (before,), (after,) = judged([one]), judged([replace(one, std=shrink * one.std)])
    if before.verdict != "inconclusive":
        assert after.verdict != "inconclusive"
    assert after.margins <= before.margins + 1e-12


def test_every_metric_has_a_criterion() -> None:
    assert set(RESULTS) < set(CRITERIA)
    for metric, criterion in CRITERIA.items():
        absolute = metric.endswith(("acc", "gap"))
        assert (criterion.tolerance, criterion.relative) == (
            0.02 if absolute else 0.1,
            not absolute,
        )
        assert criterion.margin(-4.0) == pytest.approx(0.02 if absolute else 0.4)
