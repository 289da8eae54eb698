"""Figures: the numbers drawn are the tables', names are text, colours stand apart."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from kerhrm_paper.evaluation.bands import UNPRINTED
from kerhrm_paper.evaluation.tables import primary
from kerhrm_paper.reporting import draw, figures, forest, seed_figure
from kerhrm_paper.reporting.figures import METHODS
from kerhrm_paper.reporting.iteration_figure import figure2
from kerhrm_paper.reporting.run import Run
from tests.unit.reporting.conftest import cells_of
from tests.unit.reporting.legible import assert_legible

RESULTS = Path(__file__).parents[3] / "results"
REFERENCE = Run(RESULTS / "reference")


def read(table: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return REFERENCE.cells(table), REFERENCE.scores(table)


def of_one_method(cells: pd.DataFrame, **facts: Any) -> pd.DataFrame:
    """Cells of two seeds, whose intervals are their means."""
    mean = cells["mean"]
    intervals = {"ci_low": mean, "ci_high": mean}
    known = {"metric": "test_acc", "selection": "own", "n_seeds": 2}
    return cells.assign(data_source="", **intervals, **known | facts)


def tick_labels(axis: Axes) -> list[str]:
    """Texts at the rows of a panel."""
    return [label.get_text() for label in axis.get_yticklabels()]


@pytest.fixture(autouse=True)
def _closed() -> object:
    plt.switch_backend("agg")
    yield None
    plt.close("all")


def test_figure_2_draws_the_means_of_its_table() -> None:
    cells = REFERENCE.cells("figure2")
    axis, *_ = figure2(cells).axes
    lines = {line.get_label(): line for line in axis.get_lines()}
    is_linear = cells["method"] == "KerHRM (linear predictor)"
    is_linear &= cells["metric"] == "test_acc"
    rows = cells[is_linear]
    line = lines["test accuracy"]
    means = rows["mean"].to_numpy()
    assert line.get_ydata() == pytest.approx(means)
    iterations = list(range(7))
    assert line.get_xdata().tolist() == iterations


def points(axis: Axes) -> list[Line2D]:
    """The lines of means."""
    lines = axis.get_lines()
    return [line for line in lines if line.get_marker() == "o"]


def test_figure_3_draws_the_means_of_every_period() -> None:
    cells = REFERENCE.cells("figure3")
    axis, *_ = draw.figure3(cells).axes
    drawn = [line.get_ydata() for line in points(axis)]
    is_variant = cells["setting"].str.contains(",")
    own = cells[primary(cells) & ~is_variant]
    shown = set(own["method"])
    methods = [method for method in METHODS if method in shown]
    for method, means in zip(methods, drawn, strict=False):
        expected = own.loc[own["method"] == method, "mean"]
        assert means == pytest.approx(expected.to_numpy())
    names = {text.get_text() for text in axis.texts}
    assert {"ERM", "DRO", "EIIL", "HRM", "IRM", "KerHRM"} <= names


def test_every_run_of_the_versions_is_drawn() -> None:
    cells, scores = read("table1")
    (figure,) = draw.own_figures(cells, scores)
    axis, *_ = figure.axes
    runs = [line for line in axis.get_lines() if line.get_alpha()]
    drawn = [run.get_xdata() for run in runs]
    is_own = primary(scores)
    is_own &= scores["metric"] == "test_acc"
    own = scores[is_own]
    for method, values in zip(draw.VERSIONS, drawn, strict=True):
        expected = own.loc[own["method"] == method, "value"]
        assert sorted(values) == pytest.approx(sorted(expected))


def test_accuracies_are_drawn_over_the_share_of_agreement() -> None:
    """Of colours the share is one minus the flips, and panels are training
    distributions."""
    settings = [
        "r_test=0.10",
        "r_test=1.00",
        "r_test=0.10,x=1",
        "e_test=0.90",
        "e_test=0.15",
    ]
    means = [0.1, 0.2, 0.3, 0.4, 0.5]
    cells = pd.DataFrame({"setting": settings, "mean": means})
    cells = of_one_method(cells, method="ERM")
    is_coloured = cells["setting"].str.startswith("e_test")
    cells.loc[is_coloured, "data_source"] = "mnist"
    (figure,) = draw.own_figures(cells, cells)
    expected_lines = [
        [0.1, 0.1, 1, 0.2],
        [0.1, 0.3],
        [0.1, 0.4, 0.85, 0.5],
    ]
    for axis, expected in zip(figure.axes, expected_lines, strict=True):
        line, *_ = axis.get_lines()
        drawn = line.get_xydata().ravel()
        assert drawn == pytest.approx(expected)


def test_every_method_of_a_table_is_drawn() -> None:
    """Those that no figure knows as well, one's own among them, each in its way."""
    methods = ["ERM", "KerHRM", "AFR", "AFR (closed form)", "EDNIL", "My method"]
    rows = []
    for method in methods:
        for share in ("0.10", "0.90"):
            rows.append((f"r_test={share}", method, 0.5))
    names = ["setting", "method", "mean"]
    cells = of_one_method(pd.DataFrame(rows, columns=names))
    (figure,) = draw.own_figures(cells, cells)
    (axis,) = figure.axes
    lines = axis.get_lines()
    ways = set()
    for line in lines:
        colour = line.get_color()
        marker = line.get_marker()
        ways.add((colour, marker, line.get_linestyle()))
    assert len(ways) == len(lines) == len(methods)
    assert set(methods) <= words(figure)


def test_a_method_without_a_colour_takes_one_that_no_other_has() -> None:
    drawn = figures.looks(["ERM", "DRO", "EIIL", "EDNIL", "AFR", "XRM"])
    colours = [look["color"] for look in drawn.values()]
    assert len(set(colours)) == len(colours)


def test_no_two_methods_look_the_same() -> None:
    names = [*figures.METHODS, "JTT (closed form)", "EDNIL", "XRM"]
    drawn = figures.looks(names).values()
    ways = {(look["color"], look["linestyle"], look["marker"]) for look in drawn}
    assert len(ways) == len(names)


def test_names_of_ends_move_as_little_as_keeps_them_apart() -> None:
    """Two names that are too close move the same way each, a lone one not at all."""
    with figures.style():
        _, grid = figures.subplots(1, 1, figsize=(4, 4))
    axis = grid[0, 0]
    axis.set_ylim(0, 1)
    ends = {"a": (0.5, "black"), "b": (0.52, "black"), "c": (0.9, "black")}
    figures.name_ends(axis, ends, 0.1)
    places = {text.get_text(): text.xyann[1] for text in axis.texts}
    assert places == pytest.approx({"a": 0.46, "b": 0.56, "c": 0.9})


def test_the_bound_and_a_constant_are_lines_of_their_panels() -> None:
    rows = [
        ("r_test=0.10", "ERM", 0.4),
        ("r_test=0.90", "ERM", 0.9),
        ("r_test=0.10", "ref: majority", 0.48),
        ("r_test=0.90", "ref: majority", 0.50),
        ("r_test=0.10", "ref: invariant ceiling", 0.77),
        ("r_test=0.90", "ref: invariant ceiling", 0.77),
    ]
    names = ["setting", "method", "mean"]
    cells = of_one_method(pd.DataFrame(rows, columns=names))
    (figure,) = draw.own_figures(cells, cells)
    (axis,) = figure.axes
    bound, constant, erm = (line.get_ydata() for line in axis.get_lines())
    assert list(bound) == [0.77, 0.77]
    assert list(constant) == pytest.approx([0.49, 0.49])
    assert list(erm) == [0.4, 0.9]
    assert {"a constant", "bound of the invariant features"} <= words(figure)


@pytest.mark.parametrize(
    "table",
    [
        "as_printed_clusters",
        "auxiliary",
        "from_printed",
        "crossed",
        "ednil_protocol",
        "figure2",
        "figure3",
        "stopping",
        "table2",
    ],
)
def test_every_kind_of_figure_is_legible(table: str) -> None:
    for figure in draw.table_figures(REFERENCE, table):
        assert_legible(figure)


def test_the_endpoints_are_legible() -> None:
    tests = REFERENCE.endpoints()
    assert_legible(forest.endpoints(tests))


def test_a_band_is_a_bar_from_the_lowest_to_the_highest_mean() -> None:
    found = REFERENCE.endpoints()
    found = found.drop(columns=["lowest", "highest"], errors="ignore")
    plain = forest.endpoints(found)
    assert not any("pale bar" in text for text in words(plain))
    is_band = found["method"] == "KerHRM (as printed)"
    is_band &= found["table"] == "table3"
    lowest = found["paper"] - 1.5
    highest = found["paper"] + 0.5
    found["lowest"] = np.where(is_band, lowest, np.nan)
    found["highest"] = np.where(is_band, highest, np.nan)
    found["outcome"] = found["outcome"].mask(is_band, UNPRINTED)
    figure = forest.endpoints(found)
    assert any("pale bar" in text for text in words(figure))
    assert UNPRINTED in words(figure)
    bars = []
    for axis in figure.axes:
        for drawn in axis.collections:
            if isinstance(drawn, LineCollection):
                bars.append(drawn)
    (bar,) = bars
    segment = bar.get_segments()[0]
    ends = segment[:, 0].tolist()
    assert ends == pytest.approx([-1.5, 0.5])


def test_the_endpoints_say_what_chose_the_options() -> None:
    found = REFERENCE.endpoints()
    usual = "options chosen by pooled validation"
    others = "KerHRM (authors' code): as released; KerHRM: worst inferred environment"
    assert {f"{usual};", others} <= words(forest.endpoints(found))
    alike = found.assign(selection="pooled validation")
    assert usual in words(forest.endpoints(alike))
    nothing = found.assign(mean=np.nan, selection=np.nan)
    assert not any("chosen" in text for text in words(forest.endpoints(nothing)))


def test_stand_ins_are_not_called_the_papers_data() -> None:
    """In no figure of house prices, of shares and of endpoints."""
    cells, scores = read("figure3")
    axis = draw.figure3(cells).axes[0]
    assert axis.get_title() == "as in the paper"
    houses = cells.assign(data_source="fallback:houses")
    mark = Run.mark(REFERENCE, houses)
    (figure,) = draw.own_figures(houses, scores, mark)
    texts = words(figure)
    assert texts & {"as in the paper"} == set()
    (title,) = (text for text in words(figure) if "stand-ins" in text)
    assert title == "stand-ins for the house sales (drawn from a formula)"
    cells, scores = read("assumptions")
    digits = cells.assign(data_source="fallback:digits")
    (figure,) = draw.own_figures(digits, scores, "m")
    assert not any("MNIST" in text for text in words(figure))
    found = REFERENCE.endpoints()
    is_table4 = found["table"] == "table4"
    found.loc[is_table4, ["mean", "difference"]] = np.nan
    panels = forest.endpoints(found).axes
    assert len(panels) == 3


def words(figure: Figure) -> set[str]:
    """All texts of a figure, a line each."""
    lines = set()
    for text in figure.findobj(Text):
        lines |= set(text.get_text().splitlines())
    return lines


def test_changes_are_rows_and_settings_are_panels() -> None:
    numbers = range(7)
    marks = ["", *(f",m={number}" for number in numbers)]
    settings = []
    for base in "ab":
        settings += [f"{base}{mark}" for mark in marks]
    means = np.linspace(0.1, 0.9, len(settings))
    cells = pd.DataFrame({"setting": settings, "mean": means})
    cells = of_one_method(cells, method="KerHRM")
    (figure,) = draw.own_figures(cells, cells)
    halves = np.split(means, 2)
    for axis, expected in zip(figure.axes, halves, strict=True):
        drawn = [line.get_xdata()[0] for line in points(axis)]
        assert drawn == pytest.approx(expected)
    labels = tick_labels(figure.axes[0])
    assert labels == ["KerHRM", *(f"m = {number}" for number in numbers)]


@pytest.mark.parametrize(
    "name", ["fee_$_to_$", "price_$/m^2_in_$", "a$b", "$50K_to_$75K"]
)
def test_dollars_are_no_mathematics(
    tmp_path: Path, scores: pd.DataFrame, name: str
) -> None:
    settings = scores["setting"] + name
    methods = scores["method"] + name
    named = scores.assign(setting=settings, method=methods)
    cells = cells_of(named, "t")
    figure = seed_figure.every_seed(named, cells, name)
    figures.save(figure, tmp_path / "f")


def test_the_same_figure_is_the_same_bytes_and_the_backend_stays(
    tmp_path: Path, scores: pd.DataFrame
) -> None:
    plt.ion()
    for stem in ("a", "b=1.5"):
        cells = cells_of(scores, "t")
        figure = seed_figure.every_seed(scores, cells)
        figures.save(figure, tmp_path / stem)
    assert plt.isinteractive()
    for ending in ("png", "pdf"):
        one = tmp_path / f"a.{ending}"
        other = tmp_path / f"b=1.5.{ending}"
        assert one.read_bytes() == other.read_bytes()


SAVE = """
import sys
import pandas as pd
from kerhrm_paper.reporting import figures, forest
figures.save(forest.endpoints(pd.read_csv(sys.argv[1])), sys.argv[2])
"""


def test_settings_of_matplotlib_change_no_figure(tmp_path: Path) -> None:
    """Neither a matplotlibrc nor a backend that needs a window."""
    found = REFERENCE.endpoints()
    figures.save(forest.endpoints(found), tmp_path / "plain")
    style = "font.size: 20\nfont.family: serif\nsavefig.bbox: tight\n"
    (tmp_path / "matplotlibrc").write_text(style)
    table = str(REFERENCE.folder / "endpoints.csv")
    subprocess.run(
        [sys.executable, "-c", SAVE, table, "styled"],
        cwd=tmp_path,
        env=os.environ | {"MPLBACKEND": "TkAgg"},
        check=True,
    )
    for ending in ("png", "pdf"):
        plain = tmp_path / f"plain.{ending}"
        styled = tmp_path / f"styled.{ending}"
        assert plain.read_bytes() == styled.read_bytes()
