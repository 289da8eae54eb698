"""Summaries of tables, against means by hand."""

from pathlib import Path

import pandas as pd
import pytest

from kerhrm_paper.evaluation.tables import primary
from kerhrm_paper.reporting import tables
from kerhrm_paper.reporting.run import Run

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")


def test_a_criterion_has_the_mean_over_the_settings() -> None:
    cells = REFERENCE.cells("table1")
    found = tables.criteria(cells)
    own = cells[(cells.method == "EIIL") & (cells.metric == "test_acc")]
    for selection, rows in own.groupby("selection"):
        assert found.loc[("test_acc", "EIIL"), selection] == pytest.approx(
            rows["mean"].mean()
        )
    assert "ref: majority" not in found.index.get_level_values("method")


def test_the_answer_is_the_mean_over_settings() -> None:
    cells = REFERENCE.cells("table1", "table3")
    found = tables.answer(cells)
    own = cells[(cells["table"] == "table3") & (cells["method"] == "KerHRM")]
    own = own[
        (own["metric"] == "mean_error") & (own["selection"] == own["selection"].iloc[0])
    ]
    assert found.loc["KerHRM", ("table3", "here")] == f"{own['mean'].mean():.3f}"
    assert found.loc["KerHRM", ("table3", "paper")] == f"{own['paper'].mean():.3f}"


def test_the_answer_has_the_worst_test_environment() -> None:
    cells = REFERENCE.cells("table1")
    is_result = (cells["metric"] == "test_acc") & primary(cells)
    worst = cells[is_result].assign(metric="worst_acc", paper=float("nan"))
    worst["mean"] = worst["mean"] / 2
    found = tables.answer(pd.concat([cells, worst]))
    assert set(found.columns.get_level_values(1)) == {"here", "paper", "worst"}
    here = found["table1", "here"].astype(float)
    halved = found["table1", "worst"].astype(float)
    assert halved.to_numpy() == pytest.approx(here.to_numpy() / 2, abs=0.001)
    before = tables.answer(cells)
    pd.testing.assert_frame_equal(found[before.columns], before)
