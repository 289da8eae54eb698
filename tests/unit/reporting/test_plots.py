"""The figure of the tables' notebooks: what each panel shows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.plots import scores_per_seed
from kerhrm.reporting.tables import build_table, headline

pytestmark = pytest.mark.usefixtures("no_window")

COLUMNS = ["setting", "method", "seed", "metric", "value", "selection", "data_source", "reason"]
OWN, POOLED, ORACLE = "worst learned environment", "pooled validation", "oracle"
SETTINGS, METHODS, SEEDS = ["cmnist", "cmnist,k=extended"], ["ERM", "KerHRM (network)"], 5
METRICS = ["train_acc", "test_acc"]
#: the second setting runs KerHRM alone, whose rows come before ERM's
SHOWN = [
    ("cmnist", "KerHRM (network)"),
    ("cmnist", "ERM"),
    ("cmnist,k=extended", "KerHRM (network)"),
]
#: none for the first method
PAPER = PaperValues({("table4", "cmnist", "KerHRM", metric): 0.648 for metric in METRICS})


def scores() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = [
        (setting, method, seed, metric, rng.uniform(0.3, 0.8), selection, "mnist", "")
        for (setting, method), metric, selection in product(SHOWN, METRICS, [OWN, POOLED, ORACLE])
        for seed in range(SEEDS)
        if method != "ERM" or selection == POOLED
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def table(per_seed: pd.DataFrame, preset: str = "paper", name: str = "table4") -> pd.DataFrame:
    return build_table(per_seed, name, preset, PAPER)


def points(axis: Axes, marker: str) -> list[np.ndarray]:
    return [line.get_xdata() for line in axis.lines if line.get_marker() == marker]


@pytest.mark.parametrize("preset", ["paper", "smoke"])
def test_a_panel_a_setting_with_every_seed(preset: str) -> None:
    # the table has a row for every selection rule, each with the paper's number beside it
    own = headline(scores())
    figure = scores_per_seed(own, table(scores(), preset), "Table 4: a heading")
    assert figure.get_suptitle() == "Table 4: a heading"
    assert [axis.get_title() for axis in figure.axes] == SETTINGS
    for axis in figure.axes:
        assert axis.get_xlabel() == "accuracy"
        assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == METHODS
        assert axis.yaxis_inverted()  # the first method on top
        here = own[own["setting"] == axis.get_title()]
        for metric, marker, cross in (("train_acc", "o", "+"), ("test_acc", "s", "x")):
            expected = here[here["metric"] == metric].groupby("method")["value"]
            drawn = points(axis, marker)
            assert len(drawn) == expected.ngroups
            for values, (_, group) in zip(drawn, expected, strict=True):
                np.testing.assert_allclose(values, group)
            crosses = [float(x) for xs in points(axis, cross) for x in xs]
            assert crosses == ([0.648] if preset == "paper" else [])
        means = sorted(float(x[0]) for x in points(axis, "|"))
        assert means == pytest.approx(sorted(here.groupby(["method", "metric"])["value"].mean()))


def test_the_legend_does_not_hang_on_the_first_method() -> None:
    def labels(preset: str) -> list[str]:
        figure = scores_per_seed(headline(scores()), table(scores(), preset), "x")
        (legend,) = figure.legends
        return [text.get_text() for text in legend.get_texts()]

    seeds = ["training accuracy, one seed", "test accuracy, one seed", "mean over seeds"]
    assert labels("smoke") == [*seeds, "chance"]
    papers = ["paper, training accuracy", "paper, test accuracy"]
    assert labels("paper") == [*seeds, *papers, "chance"]


def test_errors_are_drawn_as_errors() -> None:
    errors = scores().replace({"metric": {"train_acc": "std_error", "test_acc": "mean_error"}})
    figure = scores_per_seed(headline(errors), table(errors, name="table3"), "x")
    assert figure.axes[0].get_xlabel() == "mean squared error"
    # Std_Error is no result of its own
    assert [len(points(axis, "s")) for axis in figure.axes] == [2, 1]
    assert [len(points(axis, "o")) for axis in figure.axes] == [0, 0]
    assert figure.axes[0].get_xscale() == "linear"


def test_an_error_far_off_does_not_squeeze_the_others() -> None:
    errors = scores().replace({"metric": {"test_acc": "mean_error"}})
    errors = errors[errors["metric"] == "mean_error"]
    errors.loc[errors["method"] == "ERM", "value"] *= 100
    figure = scores_per_seed(headline(errors), table(errors, name="table3"), "x")
    assert figure.axes[0].get_xscale() == "log"


def test_another_metric_is_drawn_under_its_own_name() -> None:
    other = scores().replace({"metric": {"train_acc": "rank", "test_acc": "regret"}})
    figure = scores_per_seed(headline(other), table(other, name="mine"), "x")
    assert figure.axes[0].get_xlabel() == "rank"
    (legend,) = figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["rank, one seed", "mean over seeds"]


def test_failed_seeds_are_told_and_have_no_mean() -> None:
    per_seed = scores()
    failed = (per_seed["method"] == "ERM") & per_seed["seed"].isin([0, 3])
    per_seed.loc[failed, ["value", "reason"]] = [np.nan, "diverged"]
    first, second = scores_per_seed(headline(per_seed), table(per_seed), "x").axes
    assert [text.get_text() for text in first.texts] == ["2 of 5 seeds failed"]
    assert len(second.texts) == 0
    assert np.isnan([float(x[0]) for x in points(first, "|")]).sum() == len(METRICS)


def test_many_settings_take_several_lines_of_panels() -> None:
    settings = [f"r2=0.7{i}" for i in range(5)]
    one = headline(scores())
    one = one[one["setting"] == "cmnist"]
    many = pd.concat([one.assign(setting=s) for s in settings])
    figure = scores_per_seed(many, table(many), "x")
    assert [axis.get_title() for axis in figure.axes] == settings


def test_a_metric_has_one_colour_in_all_panels() -> None:
    figure = scores_per_seed(headline(scores()), table(scores()), "x")
    colours = {
        marker: {line.get_color() for axis in figure.axes for line in axis.lines
                 if line.get_marker() == marker}
        for marker in ("o", "s")
    }  # fmt: skip
    assert all(len(found) == 1 for found in colours.values())
    assert colours["o"] != colours["s"]
