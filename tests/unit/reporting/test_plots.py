"""The figure of the notebooks: what each panel shows."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.plots import scores_per_seed, style
from kerhrm.reporting.scores import COLUMNS
from kerhrm.reporting.tables import build_table

SETTINGS, METHODS, SEEDS = ["cmnist", "cmnist,k=extended"], ["ERM", "KerHRM (NTF)"], 5
METRICS = ["train_acc", "test_acc"]
#: the second setting runs KerHRM alone
SHOWN = [("cmnist", "ERM"), ("cmnist", "KerHRM (NTF)"), ("cmnist,k=extended", "KerHRM (NTF)")]
PAPER = PaperValues(
    {("table4", "cmnist", m, metric): value for (m, value), metric in
     product([("ERM", 0.106), ("KerHRM", 0.648)], METRICS)}
)  # fmt: skip


def scores(selections: tuple[str, ...]) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (setting, method, seed, metric, rng.uniform(0.3, 0.8), selection, "mnist")
        for (setting, method), metric, selection in product(SHOWN, METRICS, selections)
        for seed in range(SEEDS)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    before = mpl.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


def points(axis: Axes, marker: str) -> list[np.ndarray]:
    return [line.get_ydata() for line in axis.lines if line.get_marker() == marker]


@pytest.mark.parametrize("preset", ["paper", "smoke"])
def test_a_panel_a_setting_with_every_seed(preset: str, tmp_path: Path) -> None:
    # the table has a row for every selection rule, each with the paper's number beside it
    everything = scores(("worst learned environment", "pooled validation", "oracle"))
    table = build_table(everything, "table4", preset, PAPER, resamples=50)
    headline = scores(("worst learned environment",))
    figure = scores_per_seed(headline, table, "Table 4: a heading")
    assert figure.get_suptitle() == "Table 4: a heading"
    assert [axis.get_title() for axis in figure.axes] == SETTINGS
    assert figure.axes[0].get_ylabel() == "accuracy"
    for axis in figure.axes:
        assert [t.get_text() for t in axis.get_xticklabels()] == METHODS
        here = headline[headline["setting"] == axis.get_title()]
        for metric, marker in (("train_acc", "o"), ("test_acc", "s")):
            drawn = points(axis, marker)
            groups = here[here["metric"] == metric].groupby("method", sort=False)["value"]
            for values, (_, expected) in zip(drawn, groups, strict=True):
                np.testing.assert_allclose(values, expected)
        crosses = sorted(float(y) for ys in points(axis, "x") for y in ys)
        shown = {"cmnist": [0.106, 0.106, 0.648, 0.648], "cmnist,k=extended": [0.648, 0.648]}
        assert crosses == (shown[axis.get_title()] if preset == "paper" else [])
        means = [c.get_segments()[0][0][1] for c in axis.collections]
        assert sorted(means) == pytest.approx(
            sorted(here.groupby(["method", "metric"])["value"].mean())
        )
    (legend,) = figure.legends
    labels = ["training accuracy", "test accuracy", *(["paper"] if preset == "paper" else [])]
    assert [text.get_text() for text in legend.get_texts()] == labels
    for name in ("figure.png", "figure.pdf"):
        figure.savefig(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_errors_are_drawn_as_errors() -> None:
    errors = scores(("worst learned environment",)).replace(
        {"metric": {"train_acc": "mean_error", "test_acc": "std_error"}}
    )
    table = build_table(errors, "table3", "smoke", PAPER, resamples=50)
    figure = scores_per_seed(errors, table, "x")
    assert figure.axes[0].get_ylabel() == "mean squared error"
    # Std_Error is no result of its own
    assert [len(points(axis, "s")) for axis in figure.axes] == [2, 1]
    assert [len(points(axis, "o")) for axis in figure.axes] == [0, 0]


def test_one_setting_is_one_panel() -> None:
    one = scores(("worst learned environment",))
    one = one[one["setting"] == "cmnist"]
    table = build_table(one, "table4", "smoke", PAPER, resamples=50)
    assert len(scores_per_seed(one, table, "x").axes) == 1


def test_a_metric_has_one_colour_in_all_panels() -> None:
    headline = scores(("worst learned environment",))
    table = build_table(headline, "table4", "smoke", PAPER, resamples=50)
    figure = scores_per_seed(headline, table, "x")
    colours = {
        marker: {line.get_color() for axis in figure.axes for line in axis.lines
                 if line.get_marker() == marker}
        for marker in ("o", "s")
    }  # fmt: skip
    assert all(len(found) == 1 for found in colours.values())
    assert colours["o"] != colours["s"]


def test_the_style_ends_with_its_figure() -> None:
    before = mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]
    with style():
        assert not mpl.rcParams["axes.spines.top"]
    assert (mpl.rcParams["font.size"], mpl.rcParams["axes.spines.top"]) == before


def test_the_same_scores_give_the_same_bytes(tmp_path: Path) -> None:
    headline = scores(("worst learned environment",))
    table = build_table(headline, "table4", "paper", PAPER, resamples=50)
    for name in ("1.png", "2.png"):
        scores_per_seed(headline, table, "x").savefig(tmp_path / name)
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.png").read_bytes()
