"""Figures of the published tables: all their methods, in words that can be read."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting import draw
from kerhrm_paper.reporting.period_figure import NAMES
from kerhrm_paper.reporting.run import Run
from tests.unit.reporting.legible import assert_legible, drawn_words

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")
TABLES = (
    "assumptions",
    "authors_code_classification",
    "authors_code_regression",
    "auxiliary",
    "auxiliary_houses",
    "crossed",
    "ednil_adult",
    "ednil_protocol",
    "eiil_reference",
    "mechanism",
    "overshoot",
)
#: of methods in figures whose titles say whose they are
SHORTER = {"KerHRM (linear predictor)": "linear predictor"}


def figure_of(table: str) -> Figure:
    cells = REFERENCE.cells(table)
    scores = REFERENCE.scores(table)
    (figure,) = draw.own_figures(cells, scores)
    return figure


@pytest.mark.parametrize("table", TABLES)
def test_words_can_be_read_and_are_no_keys(table: str) -> None:
    figure = figure_of(table)
    assert_legible(figure)
    for text, _ in drawn_words(figure):
        words = text.get_text()
        assert "_" not in words
        assert "=" not in words.replace(" = ", "")


@pytest.mark.parametrize("table", TABLES)
def test_every_method_of_a_table_has_its_name_in_the_figure(table: str) -> None:
    words = set()
    figure = figure_of(table)
    for text, _ in drawn_words(figure):
        parts = text.get_text().split()
        words.add(" ".join(parts))
    cells = REFERENCE.cells(table)
    for method in set(cells["method"]):
        if not method.startswith("ref: "):
            names = {method, NAMES.get(method), SHORTER.get(method)}
            assert words & names


@pytest.mark.parametrize("table", ["overshoot", "ednil_protocol"])
def test_no_mark_of_a_share_covers_another_one(table: str) -> None:
    figure = figure_of(table)
    drawn_words(figure)  # places the axes
    least = 2 * figure.dpi / 72
    for axis in figure.axes:
        curves = []
        for line in axis.get_lines():
            if line.get_marker() != "None":
                to_canvas = line.get_transform()
                curves.append(to_canvas.transform(line.get_xydata()))
        assert len(curves) > 5
        for curve, other in combinations(curves, 2):
            apart = np.linalg.norm(curve - other, axis=1)
            assert apart.min() > least


def test_a_change_without_results_in_a_setting_is_said_to_be_absent() -> None:
    figure = figure_of("authors_code_classification")
    absent = []
    for axis in figure.axes:
        texts = [text.get_text() for text in axis.texts]
        absent.append(texts.count("not run"))
    assert absent == [2, 9]


@pytest.mark.parametrize(
    ("table", "title"),
    [
        ("table1", "Table 1: Classification with spurious correlation"),
        ("overshoot", "Who overshoots"),
    ],
)
def test_a_published_figure_has_the_title_of_its_table(table: str, title: str) -> None:
    figure, *_ = draw.table_figures(REFERENCE, table)
    assert figure.get_suptitle() == title
    assert_legible(figure)


def test_the_best_method_with_an_auxiliary_variable_is_above() -> None:
    cells = REFERENCE.cells("auxiliary")
    axis, *_ = figure_of("auxiliary").axes
    top, *_ = axis.get_yticklabels()
    own = cells[primary(cells)]
    worst = where(own, metric="worst_acc")
    is_linear = ~worst["setting"].str.contains("units")
    is_bound = worst["method"] == "ref: invariant ceiling"
    by_method = worst[is_linear & ~is_bound].groupby("method")
    means = by_method["mean"].mean()
    assert top.get_text() == means.idxmax()


def test_what_is_not_changed_is_the_first_row_of_its_panel() -> None:
    cells = REFERENCE.cells("authors_code_regression")
    figure = figure_of("authors_code_regression")
    (axis,) = figure.axes
    assert axis.get_title() == "scenario 2, r = 1.9"
    rows = where(
        cells,
        setting="scenario=2,r=1.9",
        method="KerHRM (authors' code)",
        metric="mean_error",
    )
    (mean,) = rows["mean"]
    places = [line.get_xydata().tolist() for line in axis.get_lines()]
    assert [[mean, 0.0]] in places


def test_a_mark_of_crossed_seeds_is_a_mean_over_the_others() -> None:
    scores = REFERENCE.scores("crossed")
    figure = figure_of("crossed")
    axis, *_ = figure.axes
    lines = [line.get_xdata() for line in axis.get_lines()]
    (drawn, *_) = [positions for positions in lines if len(positions) == 4]
    rows = where(
        scores,
        setting="r2=0.7",
        method="KerHRM (linear predictor)",
        metric="test_acc",
    )
    seeds = rows["seed"]
    parts = seeds.str.partition(",")
    by_data = rows.groupby(parts[0])
    means = by_data["value"].mean()
    assert sorted(drawn) == pytest.approx(sorted(means))
