"""The figure of criteria: every mean of the tables stands there and apart."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm_paper.evaluation.tables import where
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.selection_figure import selection
from tests.unit.reporting.legible import assert_legible, drawn_words

RESULTS = Path(__file__).parents[3] / "results"
REFERENCE = Run(RESULTS / "reference")
TABLES = ("table1", "table2", "table3", "table4")


@pytest.fixture(scope="module")
def scores() -> dict[str, pd.DataFrame]:
    return {table: REFERENCE.scores(table) for table in TABLES}


def test_words_of_the_published_tables_can_be_read(
    scores: dict[str, pd.DataFrame],
) -> None:
    assert_legible(selection(scores))


def test_every_criterion_of_a_method_is_a_mark_at_its_mean(
    scores: dict[str, pd.DataFrame],
) -> None:
    figure = selection(scores)
    of_method = where(scores["table1"], method="EIIL", metric="test_acc")
    by_selection = of_method.groupby("selection")
    means = by_selection["value"].mean()
    axis, *_ = figure.axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    row = labels.index("EIIL")
    marks = []
    for line in axis.get_lines():
        marks += [tuple(point) for point in line.get_xydata()]
    marks_in_row = [(x, y) for x, y in marks if abs(y - row) < 0.5]
    in_row = [x for x, _ in marks_in_row]
    assert sorted(in_row) == pytest.approx(sorted(means))
    heights = sorted(y for _, y in marks_in_row)
    assert np.diff(heights).min() > 0.1


def test_a_table_of_few_methods_leaves_no_empty_panel(
    scores: dict[str, pd.DataFrame],
) -> None:
    """HRM and IRM alone have several criteria in Table 2."""
    panels = selection(scores).axes
    titles = [axis.get_title() for axis in panels]
    assert titles == ["Table 1\naccuracy", "Table 3\nerror", "Table 4\naccuracy"]


def test_a_method_without_results_in_a_table_is_said_to_be_absent(
    scores: dict[str, pd.DataFrame],
) -> None:
    """JTT and grayscale images are not in the regression of Table 3."""
    drawn = drawn_words(selection(scores))
    words = [text.get_text() for text, _ in drawn]
    assert words.count("not run") == 3  # the images are not in Table 1 either


def test_stand_ins_have_no_panel(scores: dict[str, pd.DataFrame]) -> None:
    table4 = scores["table4"]
    stand_ins = table4.assign(data_source="fallback:digits")
    tables = {"table1": scores["table1"], "table4": stand_ins}
    both = selection(tables)
    assert len(both.axes) == 1
    assert selection({"table4": stand_ins}).axes == []


def test_a_criterion_with_a_failed_run_has_no_mark(
    scores: dict[str, pd.DataFrame],
) -> None:
    table = scores["table1"].copy()
    is_failed = table["method"] == "EIIL"
    is_failed &= table["selection"] == "pooled validation"
    is_own = is_failed & (table["metric"] == "test_acc")
    table.loc[table[is_own].index[0], "value"] = np.nan
    figure = selection({**scores, "table1": table})
    words = [text.get_text() for text, _ in drawn_words(figure)]
    assert "1 failed" in words
