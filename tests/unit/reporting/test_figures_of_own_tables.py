"""Figures of tables that a user declares: right, or none of their own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kerhrm_paper.reporting import draw
from kerhrm_paper.reporting.grid_figure import is_grid
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.seed_figure import NO_ROWS, every_seed
from tests.unit.reporting.legible import assert_legible, drawn_words

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")


def with_settings(cells: pd.DataFrame, *settings: str) -> pd.DataFrame:
    """The same cells in settings of other names, in turn."""
    distinct = list(dict.fromkeys(cells["setting"]))
    names = dict(zip(distinct, settings, strict=False))
    kept = cells[cells["setting"].isin(names)]
    return kept.assign(setting=kept["setting"].map(names), table="mine")


@pytest.mark.parametrize(
    "settings",
    [
        ("n_test=50", "n_test=80"),
        ("r_test=0.1", "r_test=0.9"),
        ("low=0.95", "low=0.9"),
        ("low=0.9,units=8", "low=0.8,units=8"),
    ],
)
def test_an_option_that_looks_like_another_figure_s_is_none(
    settings: tuple[str, str],
) -> None:
    cells = with_settings(REFERENCE.cells("table1"), *settings)
    scores = with_settings(REFERENCE.scores("table1"), *settings)
    is_erm = cells["method"] == "ERM"
    assert draw.own_figures(cells[is_erm], scores[scores["method"] == "ERM"]) == []


def test_iterations_of_another_method_without_an_attribute() -> None:
    cells = REFERENCE.cells("figure2")
    is_ours = cells["method"] == "KerHRM (linear predictor)"
    is_shown = is_ours & (cells["metric"] != "d_kl")
    mine = cells[is_shown].assign(method="My $method$", table="mine")
    (figure,) = draw.own_figures(mine, REFERENCE.scores("figure2"))
    assert_legible(figure)
    words = [text.get_text() for text, _ in drawn_words(figure)]
    assert not any("divergence" in text for text in words)
    assert not any("bound" in text for text in words)  # of the paper's data
    assert len(figure.axes) == 1


def test_periods_of_a_fit_without_its_pre_test_alone() -> None:
    cells = REFERENCE.cells("figure3")
    parts = cells["setting"].str.partition(",")
    settings = parts[0] + ",pretest=none"
    untested = cells.assign(setting=settings, table="mine")
    untested = untested.drop_duplicates(["setting", "method", "metric", "selection"])
    (figure,) = draw.own_figures(untested, REFERENCE.scores("figure3"))
    assert figure.axes


def test_constants_that_are_no_numbers_are_no_grid() -> None:
    settings = pd.Series(["r2=0.7,alpha=none,cosine_weight=2"])
    assert not is_grid(pd.DataFrame({"setting": settings}))
    numbers = pd.Series(["r2=0.7,alpha=0.1,cosine_weight=1e+16"])
    assert is_grid(pd.DataFrame({"setting": numbers}))


def test_failed_runs_are_counted_in_the_figure_of_versions() -> None:
    cells = REFERENCE.cells("table1")
    scores = REFERENCE.scores("table1").copy()
    (whole,) = draw.own_figures(cells, scores)
    words = [text.get_text() for text, _ in drawn_words(whole)]
    assert not any("failed" in text for text in words)
    is_printed = scores["method"] == "KerHRM (as printed)"
    is_printed &= scores["metric"] == "test_acc"
    rows = scores[is_printed].index
    scores.loc[rows[:3], "value"] = np.nan
    (figure,) = draw.own_figures(cells, scores)
    words = [text.get_text() for text, _ in drawn_words(figure)]
    assert any(f"3 of {len(rows)} failed" in text for text in words)


@pytest.mark.parametrize(
    ("table", "has_others"), [("table1", True), ("figure2", False)]
)
def test_a_table_of_the_oracle_alone_has_a_figure_without_its_rows(
    table: str, has_others: bool
) -> None:
    """A bound would look like a method's result."""
    cells = REFERENCE.cells(table)
    scores = REFERENCE.scores(table)
    of_oracle = []
    for rows in (cells, scores):
        is_method = ~rows["method"].str.startswith("ref: ")
        criteria = rows["selection"].mask(is_method, "oracle")
        keys = ["setting", "method", "metric", "seed"]
        known = [key for key in keys if key in rows]
        of_oracle.append(rows.assign(selection=criteria).drop_duplicates(known))
    cells, scores = of_oracle
    assert draw.own_figures(cells, scores) == []
    figure = every_seed(scores, cells, "Mine")
    words = [text.get_text() for text, _ in drawn_words(figure)]
    assert not {"ERM", "DRO", "KerHRM"} & {*words}
    assert ("a constant" in words) is has_others
    assert (NO_ROWS in words) is not has_others
    assert_legible(figure)
