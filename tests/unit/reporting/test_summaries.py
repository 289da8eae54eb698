"""Summaries of tables, against means by hand."""

from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting import summaries
from kerhrm_paper.reporting.run import Run

RESULTS = Path(__file__).parents[3] / "results"
REFERENCE = Run(RESULTS / "reference")


def test_a_criterion_has_the_mean_over_the_settings() -> None:
    cells = REFERENCE.cells("table1")
    found = summaries.criteria(cells)
    is_own = cells["method"] == "EIIL"
    is_own &= cells["metric"] == "test_acc"
    shown = found.loc[("test_acc", "EIIL")]
    for selection, rows in cells[is_own].groupby("selection"):
        mean = rows["mean"].mean()
        assert shown[selection] == pytest.approx(mean)
    methods = found.index.get_level_values("method")
    assert "ref: majority" not in methods


def test_the_answer_is_the_mean_over_settings() -> None:
    cells = REFERENCE.cells("table1", "table3")
    found = summaries.answer(cells)
    is_own = cells["table"] == "table3"
    is_own &= cells["method"] == "KerHRM"
    is_own &= cells["metric"] == "mean_error"
    own = cells[is_own]
    selection = own["selection"]
    selected = own[selection == selection.iloc[0]]
    here = selected["mean"].mean()
    paper = selected["paper"].mean()
    assert found.loc["KerHRM", ("table3", "here")] == f"{here:.3f}"
    assert found.loc["KerHRM", ("table3", "paper")] == f"{paper:.3f}"


def test_the_answer_has_the_means_that_are_tested() -> None:
    """Settings that the endpoints test apart are in no mean."""
    cells = REFERENCE.cells("table1", "table2", "table3", "table4")
    endpoints = REFERENCE.endpoints()
    found = summaries.answer(cells, endpoints)
    ours = endpoints["method"].str.startswith("KerHRM")
    tested = where(endpoints[ours], part="")
    assert set(tested["table"]) == {"table1", "table2", "table3", "table4"}
    for row in tested.to_dict("records"):
        shown = found.loc[row["method"], row["table"]]
        assert shown["here"] == f"{row['mean']:.3f}"
        assert shown["paper"] == f"{row['paper']:.3f}"


def test_the_answer_has_the_worst_test_environment() -> None:
    cells = REFERENCE.cells("table1")
    cells = cells[cells["metric"] != "worst_acc"]
    is_result = primary(cells)
    is_result &= cells["metric"] == "test_acc"
    results = cells[is_result]
    worst = results.assign(metric="worst_acc", paper=float("nan"))
    worst["mean"] = worst["mean"] / 2
    both = pd.concat([cells, worst])
    found = summaries.answer(both)
    kinds = found.columns.get_level_values(1)
    assert set(kinds) == {"here", "paper", "worst"}
    here = found["table1", "here"].astype(float)
    halved = found["table1", "worst"].astype(float)
    half = here.to_numpy() / 2
    assert halved.to_numpy() == pytest.approx(half, abs=0.001)
    before = summaries.answer(cells)
    assert_frame_equal(found[before.columns], before)


def test_the_answer_is_of_the_papers_tables() -> None:
    """Printed numbers of other papers, by test environment, are no part of it."""
    cells = REFERENCE.cells("table1", "ednil_adult")
    assert cells.loc[cells["table"] == "ednil_adult", "paper"].notna().any()
    found = summaries.answer(cells)
    assert set(found.columns.get_level_values(0)) == {"table1"}


def test_options_of_a_method_stand_together() -> None:
    """Also those that the first criterion has not selected."""
    selected = [
        ("houses", "EIIL", "pooled validation", {"steps": 10}),
        ("houses", "IRM", "pooled validation", {"penalty_weight": 1.0}),
        ("houses", "EIIL", "oracle", {"loss": "logistic", "steps": 20}),
    ]
    found = summaries.hyperparameters(selected)
    assert found["method"].tolist() == ["EIIL", "EIIL", "IRM"]
    assert found["option"].tolist() == ["steps", "loss", "penalty_weight"]
    assert found["oracle"].tolist() == ["20", "logistic", ""]


def failing(cells: pd.DataFrame, method: str, setting: str) -> pd.DataFrame:
    """Cells in which a method has failed in a setting."""
    cells = cells.copy()
    is_failed = (cells["method"] == method) & (cells["setting"] == setting)
    assert is_failed.any()
    cells.loc[is_failed, "mean"] = float("nan")
    cells.loc[is_failed, "verdict"] = "failed"
    return cells


def test_a_method_that_failed_in_a_setting_has_no_mean() -> None:
    """That of the other settings might be the better one."""
    cells = REFERENCE.cells("table1")
    whole = summaries.answer(cells)
    found = summaries.answer(failing(cells, "EIIL", "r2=0.7"))
    for column in ("here", "worst"):
        assert found.loc["EIIL", ("table1", column)] == "failed"
    assert (
        found.loc["EIIL", ("table1", "paper")] == whole.loc["EIIL", ("table1", "paper")]
    )
    assert_frame_equal(found.drop(index="EIIL"), whole.drop(index="EIIL"))
    by_criterion = summaries.criteria(failing(cells, "EIIL", "r2=0.7"))
    assert by_criterion.loc[("test_acc", "EIIL")].isna().all()
    assert by_criterion.loc[("test_acc", "HRM")].notna().any()
