"""The figure of criteria: every mean of the tables stands there and apart."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm_paper.evaluation.tables import where
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.selection_figure import selection
from tests.unit.reporting.legible import assert_legible, drawn_words

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")
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
    means = of_method.groupby("selection")["value"].mean()
    axis, *_ = figure.axes
    row = [label.get_text() for label in axis.get_yticklabels()].index("EIIL")
    marks = [tuple(point) for line in axis.get_lines() for point in line.get_xydata()]
    in_row = [x for x, y in marks if abs(y - row) < 0.5]
    assert sorted(in_row) == pytest.approx(sorted(means))
    heights = [y for _, y in marks if abs(y - row) < 0.5]
    assert np.diff(sorted(heights)).min() > 0.1


def test_a_table_of_few_methods_leaves_no_empty_panel(
    scores: dict[str, pd.DataFrame],
) -> None:
    """HRM and IRM alone have several criteria in Table 2."""
    titles = [axis.get_title() for axis in selection(scores).axes]
    assert titles == ["Table 1\naccuracy", "Table 3\nerror", "Table 4\naccuracy"]


def test_a_method_without_results_in_a_table_is_said_to_be_absent(
    scores: dict[str, pd.DataFrame],
) -> None:
    """JTT and grayscale images are not in the regression of Table 3."""
    words = [text.get_text() for text, _ in drawn_words(selection(scores))]
    assert words.count("not run") == 3  # the images are not in Table 1 either


def test_stand_ins_have_no_panel(scores: dict[str, pd.DataFrame]) -> None:
    stand_ins = scores["table4"].assign(data_source="fallback:digits")
    both = selection({"table1": scores["table1"], "table4": stand_ins})
    assert len(both.axes) == 1
    assert selection({"table4": stand_ins}).axes == []
