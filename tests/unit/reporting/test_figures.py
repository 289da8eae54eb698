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
from kerhrm.reporting.figures import figure2, figure3, variants
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
    runs = {("KerHRM (NTF)", OWN): (10, 9, 0), ("KerHRM (released)", "as released"): (2, 1)}
    return build(
        [
            (f"iteration={t}", method, seed, metric, rng.random(), rule, "mnist", "")
            for (method, rule), turns in runs.items()  # 10 sorts before 9 as a text
            for t, metric, seed in product(turns, metrics, range(seeds))
            if t or metric != "d_kl"
        ],
        "figure2",
    )


def houses(
    marks: tuple[str, ...] = ("", ",clip=train"), factor: float = 1.0, network: str = "KerHRM (NTF)"
) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rules = {network if "KerHRM" in name else name: rule for name, rule in RULES.items()}
    cells = product(marks, PERIODS, rules.items(), range(3))
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


def expected(table: pd.DataFrame, method: str, metric: str, column: str) -> pd.Series:
    rows = table[(table["method"] == method) & (table["metric"] == metric)]
    rows = rows.set_index(rows["setting"].str.removeprefix("iteration=").astype(int))
    return rows[column].sort_index()


def test_figure_2_shows_both_tracks_from_iteration_0() -> None:
    table = iterations()
    figure = figure2(table, ceiling=0.8)
    described, released, left, right = figure.axes
    assert figure.get_suptitle() == ""
    assert [a.get_title(loc="left") for a in (described, released)] == [
        "as described", "as released",
    ]  # fmt: skip
    for name, above, below in (
        ("KerHRM (NTF)", described, left), ("KerHRM (released)", released, right),
    ):  # fmt: skip
        for metric, label in (("train_acc", "training accuracy"), ("test_acc", "test accuracy")):
            values = expected(table, name, metric, "mean")
            if name == "KerHRM (released)":  # it begins where the other does
                begin = expected(table, "KerHRM (NTF)", metric, "mean")
                values = pd.concat([begin.loc[[0]], values])
            line = curve(above, label)
            assert list(line.get_xdata()) == list(values.index)
            np.testing.assert_allclose(line.get_ydata(), values)
        values = expected(table, name, "d_kl", "mean")
        np.testing.assert_allclose(curve(below, "KL divergence").get_ydata(), values)
        (band,) = below.collections
        low = expected(table, name, "d_kl", "ci_low").min()
        assert band.get_paths()[0].vertices[:, 1].min() == pytest.approx(low)
        assert set(curve(above, "chance").get_ydata()) == {0.5}
        assert set(curve(above, "perfect invariant model").get_ydata()) == {0.8}
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "bands: 95 % intervals of the mean over 3 seeds"


def test_figure_2_can_do_without_the_released_track() -> None:
    table = iterations()
    assert len(figure2(table[table["method"] == "KerHRM (NTF)"]).axes) == 2


def test_figure_2_of_a_single_seed_can_be_saved(tmp_path: Path) -> None:
    save_figure(figure2(iterations(seeds=1)), str(tmp_path / "figure2"))
    assert (tmp_path / "figure2.png").stat().st_size > 1000


def test_figure_3_has_one_panel_with_intervals() -> None:
    table = houses(network="KerHRM (network)")
    (axis,) = figure3(table).axes
    assert [t.get_text() for t in axis.get_xticklabels()] == [
        p.replace("-", "\u2013") for p in PERIODS
    ]
    assert [bars.get_label() for bars in axis.containers] == ["ERM", "KerHRM (network)"]
    for bars in axis.containers:
        rows = table[table["method"] == bars.get_label()].set_index("setting")
        rows = rows.loc[[f"period={p}" for p in PERIODS]]
        np.testing.assert_allclose(bars[0].get_ydata(), rows["mean"])
        ends = np.array([s[:, 1] for s in bars[2][0].get_segments()])
        np.testing.assert_allclose(ends, rows[["ci_low", "ci_high"]])


def test_variants_have_a_panel_each_with_words_and_a_ghost() -> None:
    table = houses(marks=("", ",clip=train", ",clip=train,weights=shares"))
    away = (table["method"] == "ERM") & table["setting"].str.endswith("shares")
    figure = variants(table[~away])
    titles = [axis.get_title(loc="left").replace("\n", " ") for axis in figure.axes]
    assert titles == [
        "main setting",
        "predictions in range",
        "predictions in range, weighted by size",
    ]
    erm = table[table["method"] == "ERM"].set_index("setting")["mean"]
    for axis, mark in zip(figure.axes, ("", ",clip=train", ",clip=train"), strict=True):
        ghost = curve(axis, "ERM on the same data").get_ydata()
        np.testing.assert_allclose(ghost, erm[[f"period={p}{mark}" for p in PERIODS]])


def test_figure_3_takes_a_logarithmic_axis_where_errors_lie_far_apart() -> None:
    figure = figure3(houses(("",), 100.0, "KerHRM (network)"))
    (axis,) = figure.axes
    assert axis.get_yscale() == "log"


def test_figure_3_leaves_failed_cells_out(tmp_path: Path) -> None:
    table = houses(marks=("",), network="KerHRM (network)")
    failed = (table["method"] == "ERM") & (table["setting"] == "period=1920-1939")
    table.loc[failed, ["mean", "std"]] = np.nan
    figure = figure3(table)
    bars = figure.axes[0].containers[0]
    assert list(np.isnan(bars[0].get_ydata())) == [False, True, False]
    save_figure(figure, str(tmp_path / "figure3"))
    nothing = figure3(table.assign(mean=table["mean"].mask(table["method"] == "ERM")))
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


def test_a_figure_is_saved_without_dates_and_the_same_every_time(tmp_path: Path) -> None:
    for name in ("1", "2"):
        save_figure(figure3(houses()), str(tmp_path / "new" / f"figure.{name}"))
    for extension in ("png", "pdf"):
        first, second = (
            (tmp_path / "new" / f"figure.{name}.{extension}").read_bytes() for name in ("1", "2")
        )
        assert first == second
        assert b"/Type3" not in first  # fonts are embedded as outlines
        assert not re.search(rb"(Creation|Mod)Date|tIME|Matplotlib v", first)
    png = (tmp_path / "new" / "figure.1.png").read_bytes()
    width = int.from_bytes(png[16:20], "big")
    assert width == pytest.approx(5.5 * 200, abs=1)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(KerhrmError, match="cannot write"):
        save_figure(figure2(iterations()), str(tmp_path / "file" / "figure"))


def test_the_style_ends_with_its_figure() -> None:
    before = mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]
    with style():
        assert not mpl.rcParams["axes.spines.top"]
    assert (mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]) == before
