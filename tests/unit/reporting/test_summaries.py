"""Summaries of tables: against counts by hand."""

from pathlib import Path

from kerhrm.paper.reporting import tables
from kerhrm.paper.reporting.run import Run

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")


def test_criteria_are_beside_each_other() -> None:
    cells = REFERENCE.cells("table1")
    found = tables.criteria(cells)
    row = cells[
        (cells.method == "EIIL") & (cells.setting == "r2=0.70") & (cells.metric == "test_acc")
    ]
    for selection, mean in zip(row["selection"], row["mean"], strict=True):
        assert found.loc[("EIIL", "r2=0.70"), selection] == mean
    assert "ref: majority" not in found.index


def test_the_answer_is_the_mean_over_settings() -> None:
    cells = REFERENCE.cells("table1", "table3")
    found = tables.answer(cells)
    own = cells[(cells["table"] == "table3") & (cells["method"] == "KerHRM")]
    own = own[(own["metric"] == "mean_error") & (own["selection"] == own["selection"].iloc[0])]
    assert found.loc["KerHRM", ("table3", "here")] == f"{own['mean'].mean():.3f}"
    assert found.loc["KerHRM", ("table3", "paper")] == f"{own['paper'].mean():.3f}"
