"""The figure of every run: rows, runs, means and the paper's numbers of a table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import REFERENCES
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.seed_figure import RUN, every_seed
from kerhrm_paper.reporting.setting_words import method_name
from tests.unit.reporting.conftest import cells_of
from tests.unit.reporting.legible import assert_legible, drawn_words

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")


@pytest.mark.parametrize(
    "table", ["table1", "table3", "full_mnist", "full_mnist_baselines"]
)
def test_words_of_published_tables_can_be_read(table: str) -> None:
    scores, cells = REFERENCE.scores(table), REFERENCE.cells(table)
    assert_legible(every_seed(scores, cells, REFERENCE.title(table)))


def test_every_method_of_a_table_is_a_row_or_a_line() -> None:
    scores, cells = REFERENCE.scores("table3"), REFERENCE.cells("table3")
    words = [text.get_text() for text, _ in drawn_words(every_seed(scores, cells))]
    drawn = {" ".join(text.split()) for text in words}
    for method in set(scores["method"]):
        name, _ = REFERENCES.get(method, (method_name(method), ""))
        assert name in drawn


def test_means_over_settings_are_next_to_the_papers_over_the_same() -> None:
    scores, cells = REFERENCE.scores("table3"), REFERENCE.cells("table3")
    own = where(cells[primary(cells)], method="HRM", metric="mean_error")
    axis, *_ = every_seed(scores, cells).axes
    row = [label.get_text() for label in axis.get_yticklabels()].index("HRM")
    numbers = [text.get_text() for text in axis.texts if text.xy[1] == row]
    assert numbers == [f"{own['mean'].mean():.2f}", f"{own['paper'].mean():.2f}"]


def test_every_run_is_drawn(scores: pd.DataFrame) -> None:
    axis, *_ = every_seed(scores, cells_of(scores, "t")).axes
    runs = [line for line in axis.get_lines() if line.get_alpha() == RUN["alpha"]]
    drawn = np.concatenate([line.get_xdata() for line in runs])
    values = where(scores[primary(scores)], metric="test_acc")["value"]
    assert sorted(drawn) == pytest.approx(sorted(values))


def test_few_methods_have_a_row_for_each_setting(scores: pd.DataFrame) -> None:
    axis, *_ = every_seed(scores, cells_of(scores, "t")).axes
    labels = [label.get_text() for label in axis.get_yticklabels()]
    assert labels[:2] == ["ERM, r2 = 0.7", "ERM, r2 = 0.8"]
    assert labels[-1] == "majority, r2 = 0.8"


def test_failed_runs_are_counted_and_have_no_mean(scores: pd.DataFrame) -> None:
    is_failed = (scores["method"] == "KerHRM") & (scores["seed"] == 1)
    scores.loc[is_failed, "value"] = np.nan
    axis, *_ = every_seed(scores, cells_of(scores, "t")).axes
    texts = [text.get_text() for text in axis.texts]
    assert texts.count("1 of 3 runs failed") == 2
    assert "nan" not in texts
