"""Performance profiles: the shares drawn are counts of seeds."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes

from kerhrm.reporting.profiles import performance_profiles, profile, uneven

pytestmark = pytest.mark.usefixtures("no_window")

NETWORK, RELEASED = "KerHRM (network)", "KerHRM (released)"
#: accuracies of two seeds; reference rows may scatter as they like
VALUES = {
    "ref: majority": (0.1, 0.9), RELEASED: (0.3, 0.7), NETWORK: (0.75, 0.76), "ERM": (0.4, 0.41),
    "HRM": (0.4, 0.6),
}  # fmt: skip


def scores(metric: str = "test_acc") -> pd.DataFrame:
    rows = [
        (setting, method, seed, metric, values[seed])
        for setting, (method, values), seed in product(("a", "b"), VALUES.items(), (0, 1))
    ]
    return pd.DataFrame(rows, columns=["setting", "method", "seed", "metric", "value"])


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=12), lower=st.booleans())
def test_a_profile_counts_the_better_seeds(values: list[float], lower: bool) -> None:
    found = np.array(values)
    x, share = profile(found, lower)
    assert (np.diff(x) >= 0).all()
    for at in x:
        better = found <= at if lower else found > at
        assert share[x == at][-1] == pytest.approx(better.mean())


def test_failed_seeds_are_better_than_none() -> None:
    values = np.array([0.5, np.nan, 0.25, np.nan])
    for lower, expected in ((True, [0.25, 0.5]), (False, [0.25, 0.0])):
        x, share = profile(values, lower)
        assert list(x) == [0.25, 0.5]
        assert list(share) == expected


def test_rows_are_uneven_by_their_widest_setting() -> None:
    assert uneven(scores(), "test_acc") == ["HRM", RELEASED]
    calm = scores()
    calm.loc[calm["setting"] == "a", "value"] = 0.5
    assert uneven(calm, "test_acc") == ["HRM", RELEASED]
    assert uneven(calm[calm["setting"] == "a"], "test_acc") == []
    assert uneven(scores("regret"), "regret") == []
    # a quarter of an error's mean
    assert uneven(scores("mean_error"), "mean_error") == ["HRM", RELEASED]


def steps(axis: Axes) -> dict[str, list[list[float]]]:
    return {line.get_label(): line.get_xydata().T.tolist() for line in axis.lines}


@pytest.mark.parametrize("metric", ["test_acc", "mean_error"])
def test_a_panel_a_setting_with_a_step_a_seed(metric: str) -> None:
    figure = performance_profiles(scores(metric), metric, "a heading")
    assert figure.get_suptitle() == "a heading"
    assert [axis.get_title() for axis in figure.axes] == ["a", "b"]
    falls = metric == "test_acc"
    for axis in figure.axes:
        shown = steps(axis)
        assert list(shown) == [NETWORK, "HRM", RELEASED]
        x, share = shown[RELEASED]
        assert x == [0.3, 0.3, 0.7, 0.76]  # from end to end of the axis
        assert share == ([1, 0.5, 0, 0] if falls else [0, 0.5, 1, 1])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [NETWORK, "HRM", RELEASED]


def test_a_row_that_has_failed_leaves_a_line_on_the_ground() -> None:
    frame = scores()
    frame["value"] = frame["value"].mask((frame["method"] == "HRM") & (frame["setting"] == "a"))
    first, second = performance_profiles(frame, "test_acc", "x").axes
    assert set(steps(first)["HRM"][1]) == {0.0}
    assert set(steps(second)["HRM"][1]) == {0.0, 0.5, 1.0}
    without = frame[(frame["method"] != "HRM") | (frame["setting"] == "b")]
    assert "HRM" not in steps(performance_profiles(without, "test_acc", "x").axes[0])
    # a setting without any of them has no panel
    without = frame[~frame["method"].isin(["HRM", RELEASED]) | (frame["setting"] == "b")]
    assert [a.get_title() for a in performance_profiles(without, "test_acc", "x").axes] == ["b"]
