"""The figure of every run: rows, runs, means and the paper's numbers of a table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from kerhrm_paper.evaluation.score_rows import COLUMNS
from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import REFERENCES
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.seed_figure import RUN, every_seed
from kerhrm_paper.reporting.setting_words import method_name
from tests.unit.reporting.conftest import cells_of
from tests.unit.reporting.legible import assert_legible, drawn_words

RESULTS = Path(__file__).parents[3] / "results"
REFERENCE = Run(RESULTS / "reference")


def read(table: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return REFERENCE.scores(table), REFERENCE.cells(table)


def row_labels(axis: Axes) -> list[str]:
    return [label.get_text() for label in axis.get_yticklabels()]


@pytest.mark.parametrize(
    "table", ["table1", "table3", "full_mnist", "full_mnist_baselines", "stopping"]
)
def test_words_of_published_tables_can_be_read(table: str) -> None:
    scores, cells = read(table)
    title = REFERENCE.title(table)
    figure = every_seed(scores, cells, title)
    assert_legible(figure)


def test_every_method_of_a_table_is_a_row_or_a_line() -> None:
    scores, cells = read("table3")
    figure = every_seed(scores, cells)
    drawn = set()
    for text, _ in drawn_words(figure):
        words = text.get_text().split()
        drawn.add(" ".join(words))
    for method in set(scores["method"]):
        name, _ = REFERENCES.get(method, (method_name(method), ""))
        assert name in drawn


def test_a_reference_with_the_same_values_in_all_settings_is_one_row() -> None:
    """And options have words."""
    scores, cells = read("stopping")
    figure = every_seed(scores, cells)
    axis, *_ = figure.axes
    labels = [" ".join(label.split()) for label in row_labels(axis)]
    assert labels.count("a constant") == 1
    assert len(labels) == 14
    assert "DRO, rho = 2, 60 steps, not stopped early" in labels


def test_means_over_settings_are_next_to_the_papers_and_to_the_worst_test() -> None:
    scores, cells = read("table3")
    is_own = primary(cells)
    own_cells = cells[is_own]
    of_hrm = where(own_cells, method="HRM")
    own = where(of_hrm, metric="mean_error")
    of_worst = where(of_hrm, metric="worst_error")
    figure = every_seed(scores, cells)
    axis, *_ = figure.axes
    row = row_labels(axis).index("HRM")
    in_row = [text for text in axis.texts if text.xy[1] == row]
    numbers = [text.get_text() for text in in_row]
    mean = own["mean"].mean()
    paper = own["paper"].mean()
    worst = of_worst["mean"].mean()
    assert worst > mean
    assert numbers == [f"{mean:.2f}", f"{paper:.2f}", f"{worst:.2f}"]


def test_every_run_is_drawn(scores: pd.DataFrame) -> None:
    cells = cells_of(scores, "t")
    figure = every_seed(scores, cells)
    axis, *_ = figure.axes
    size = RUN["markersize"]
    runs = [line for line in axis.get_lines() if line.get_markersize() == size]
    positions = [run.get_xdata() for run in runs]
    drawn = np.concatenate(positions)
    own = scores[primary(scores)]
    of_metric = where(own, metric="test_acc")
    values = of_metric["value"]
    assert sorted(drawn) == pytest.approx(sorted(values))


def test_few_methods_have_a_row_for_each_setting(scores: pd.DataFrame) -> None:
    cells = cells_of(scores, "t")
    axis, *_ = every_seed(scores, cells).axes
    labels = row_labels(axis)
    assert labels[:2] == ["ERM, r2 = 0.7", "ERM, r2 = 0.8"]
    assert labels[-1] == "a constant, r2 = 0.8"


def test_failed_runs_are_counted_and_have_no_mean(scores: pd.DataFrame) -> None:
    is_failed = scores["method"] == "KerHRM"
    is_failed &= scores["seed"] == 1
    scores.loc[is_failed, "value"] = np.nan
    cells = cells_of(scores, "t")
    figure = every_seed(scores, cells)
    axis, *_ = figure.axes
    texts = [text.get_text() for text in axis.texts]
    assert texts.count("1 of 3 runs failed") == 2
    assert "nan" not in texts


@pytest.mark.parametrize("level", [3.0, 30.0, 45.0, 90.0])
def test_the_name_of_a_level_covers_no_heading(level: float) -> None:
    """On a logarithmic scale, too, on which its place is another one."""
    row: dict[str, object] = dict.fromkeys(COLUMNS, "")
    row |= {"data": "d", "setting": "s", "metric": "mse", "data_source": "synthetic"}
    rows = []
    for method, values in (
        ("ERM", [1.0, 100.0]),
        ("DRO", [2.0, 80.0]),
        ("ref: predict the mean", [level, level]),
    ):
        for seed, value in enumerate(values):
            rows.append(row | {"method": method, "seed": seed, "value": value})
    scores = pd.DataFrame(rows)
    figure = every_seed(scores, cells_of(scores, "t"), marked=["DRO"])
    (axis,) = figure.axes
    assert axis.get_xscale() == "log"
    names = {label.get_text(): label for label in axis.get_yticklabels()}
    assert names["DRO"].get_weight() == "bold"
    assert names["ERM"].get_weight() != "bold"
    assert_legible(figure)
