"""Figures of the published tables: all their methods, in words that can be read."""

from pathlib import Path

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
