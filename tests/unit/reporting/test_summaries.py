"""Summaries of tables, against means by hand."""

from pathlib import Path

import pytest

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
