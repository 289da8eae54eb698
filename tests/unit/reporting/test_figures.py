"""Figures 2 and 3: the numbers drawn are the tables'; and what all figures share."""

import re
from itertools import product
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import ROWS
from kerhrm.reporting.figures import figure2, figure3
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.style import COLOURS, look_of, save_figure, style
from kerhrm.reporting.tables import build_table

pytestmark = pytest.mark.usefixtures("no_window")

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
OWN = "worst learned environment"
PERIODS = ["1900-1919", "1920-1939", "1940-1959"]
RULES = {
    "KerHRM (NTF)": OWN,
    "ERM": "pooled validation",
    "ref: least squares": "none",
}


def build(rows: list[tuple[object, ...]], name: str) -> pd.DataFrame:
    scores = pd.DataFrame(rows, columns=COLUMNS)
    return build_table(scores, name, "paper", PaperValues({}))


def iterations(seeds: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    metrics = ("train_acc", "test_acc", "d_kl")
    # 10 sorts before 9 as a text
    cells = product((10, 9, 8), metrics, range(seeds))
    return build(
        [
            (f"iteration={t}", "KerHRM (NTF)", seed, metric, rng.random(), OWN, "mnist", "")
            for t, metric, seed in cells
        ],
        "figure2",
    )


def houses(marks: tuple[str, ...] = ("", ",clip=train"), factor: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cells = product(marks, PERIODS, RULES.items(), range(3))
    return build(
        [
            (f"period={p}{mark}", method, seed, "mse",
             rng.uniform(0.5, 1.0) * (factor if method == "ERM" else 1.0), rule, "king_county", "")
            for mark, p, (method, rule), seed in cells
        ],
        "figure3",
    )  # fmt: skip


def curve(axis: Axes, label: str) -> Line2D:
    (found,) = [line for line in axis.lines if line.get_label() == label]
    return found


def expected(table: pd.DataFrame, metric: str, column: str) -> np.ndarray:
    rows = table[table["metric"] == metric].set_index("setting")[column]
    return rows.loc[["iteration=8", "iteration=9", "iteration=10"]].to_numpy()


def test_figure_2_shows_means_and_deviations_in_order() -> None:
    table = iterations()
    figure = figure2(table, "Figure 2: a heading", ceiling=0.8)
    above, below = figure.axes
    assert figure.get_suptitle() == "Figure 2: a heading"
    for axis, metric, label in (
        (above, "train_acc", "training accuracy"),
        (above, "test_acc", "test accuracy"),
        (below, "d_kl", "KL divergence"),
    ):
        line = curve(axis, label)
        assert list(line.get_xdata()) == [8, 9, 10]
        np.testing.assert_allclose(line.get_ydata(), expected(table, metric, "mean"))
    (band,) = below.collections
    low = expected(table, "d_kl", "mean") - expected(table, "d_kl", "std")
    assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(low.min())
    assert set(curve(above, "chance").get_ydata()) == {0.5}
    assert set(curve(above, "perfect invariant model").get_ydata()) == {0.8}
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "bands: ± 1 standard deviation over 3 seeds"
    assert list(below.get_xticks()) == [8, 9, 10]
    assert below.get_ylabel().endswith("(nats)")


def test_figure_2_leaves_room_for_a_divergence_that_hardly_moves() -> None:
    table = iterations()
    level = table["metric"] == "d_kl"
    table = table.assign(
        mean=table["mean"].where(~level, 7.46), std=table["std"].where(~level, 0.01)
    )
    below = figure2(table, "x").axes[1]
    low, high = below.get_ylim()
    assert low == 0
    assert 1.1 * 7.47 < high < 1.3 * 7.47


def test_figure_2_curves_differ_in_colour_marker_and_line() -> None:
    above = figure2(iterations(), "x").axes[0]
    first, second = (curve(above, label) for label in ("training accuracy", "test accuracy"))
    for get in ("get_color", "get_marker", "get_linestyle"):
        assert getattr(first, get)() != getattr(second, get)()
    assert not [line for line in above.lines if line.get_label() == "perfect invariant model"]


def test_figure_2_of_a_single_seed_can_be_saved(tmp_path: Path) -> None:
    save_figure(figure2(iterations(seeds=1), "x"), str(tmp_path / "figure2"))
    assert (tmp_path / "figure2.png").stat().st_size > 1000


def test_figure_3_has_a_panel_a_variant_and_a_point_a_period() -> None:
    table = houses()
    figure = figure3(table, "Figure 3: a heading")
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["main setting", "clip=train"]
    for axis, mark in zip(figure.axes, ("", ",clip=train"), strict=True):
        assert [t.get_text() for t in axis.get_xticklabels()] == PERIODS
        for bars in axis.containers:
            rows = table[table["method"] == bars.get_label()].set_index("setting")
            rows = rows.loc[[f"period={p}{mark}" for p in PERIODS]]
            np.testing.assert_allclose(bars[0].get_ydata(), rows["mean"])
            lengths = [np.ptp(s[:, 1]) for s in bars[2][0].get_segments()]
            np.testing.assert_allclose(lengths, 2 * rows["std"])
        assert [bars.get_label() for bars in axis.containers] == ["ERM", "KerHRM (NTF)"]
        assert list(curve(axis, "ref: least squares").get_xdata()) == [0, 1, 2]
        assert axis.get_yscale() == "linear"
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "error bars: ± 1 standard deviation over 3 seeds"
    assert [t.get_text() for t in legend.get_texts()] == [
        "ERM", "KerHRM (NTF)", "ref: least squares",
    ]  # fmt: skip


def test_figure_3_takes_a_logarithmic_axis_where_errors_lie_far_apart() -> None:
    figure = figure3(houses(marks=("",), factor=100.0), "x")
    (axis,) = figure.axes
    assert axis.get_yscale() == "log"
    assert axis.get_title(loc="left") == ""


def test_figure_3_leaves_failed_cells_out(tmp_path: Path) -> None:
    table = houses(marks=("",))
    failed = (table["method"] == "ERM") & (table["setting"] == "period=1920-1939")
    table.loc[failed, ["mean", "std"]] = np.nan
    figure = figure3(table, "x")
    bars = figure.axes[0].containers[0]
    assert list(np.isnan(bars[0].get_ydata())) == [False, True, False]
    save_figure(figure, str(tmp_path / "figure3"))
    nothing = figure3(table.assign(mean=table["mean"].mask(table["method"] == "ERM")), "x")
    assert "ERM" not in [t.get_text() for t in nothing.legends[0].get_texts()]


def test_no_two_methods_look_alike() -> None:
    looks = {row.title: look_of(row.title) for row in ROWS.values()}
    assert len(set(looks.values())) == len(looks)
    titles = dict.fromkeys(row.title for row in ROWS.values() if row.track != "reference")
    trained = [looks[title] for title in titles]
    trained = trained[: len(COLOURS)]
    # each of them alone tells the paper's methods apart
    assert len({look.colour for look in trained}) == len(trained)
    assert len({look.marker for look in trained}) == len(trained)
    assert {look.marker for name, look in looks.items() if name.startswith("ref: ")} == {""}


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4
              for c in mpl.colors.to_rgb(colour)]  # fmt: skip
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_stand_out_from_white(colour: str) -> None:
    assert 1.05 / (luminance(colour) + 0.05) > 1.9


def test_a_figure_is_saved_without_dates_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("1", "2"):
        save_figure(figure3(houses(), "x"), str(tmp_path / "new" / f"figure.{name}"))
    for extension in ("png", "pdf"):
        first, second = (
            (tmp_path / "new" / f"figure.{name}.{extension}").read_bytes() for name in ("1", "2")
        )
        assert first == second
        assert not re.search(rb"(Creation|Mod)Date|tIME|Matplotlib v", first)
    png = (tmp_path / "new" / "figure.1.png").read_bytes()
    width = int.from_bytes(png[16:20], "big")
    assert width == pytest.approx(7.4 * 200, abs=1)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(KerhrmError, match="cannot write"):
        save_figure(figure2(iterations(), "x"), str(tmp_path / "file" / "figure"))


def test_the_style_ends_with_its_figure() -> None:
    before = mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]
    with style():
        assert not mpl.rcParams["axes.spines.top"]
    assert (mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]) == before
