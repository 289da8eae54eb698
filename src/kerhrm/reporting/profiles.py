"""Performance profiles: how many seeds are how good, where a mean would hide two kinds of them."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kerhrm.methods.registry import position, row_titled
from kerhrm.reporting.style import add_title, fit_scale, look_of, panels, style
from kerhrm.reporting.tables import metric_name
from kerhrm.scoring.comparisons import CHAMPIONS
from kerhrm.scoring.verdicts import CRITERIA

#: standard deviation over seeds, in margins, beyond which a row is shown
UNEVEN = 2.5
PANELS = 3  #: side by side


def uneven(scores: pd.DataFrame, metric: str) -> list[str]:
    """Trained methods whose seeds scatter by more than :data:`UNEVEN` margins in some setting.

    None of a metric that is not in :data:`kerhrm.scoring.verdicts.CRITERIA`.
    """
    if metric not in CRITERIA:
        return []
    groups = scores[scores["metric"] == metric].groupby(["method", "setting"])["value"]
    margins = groups.mean().map(CRITERIA[metric].margin)
    scattered = (groups.std() > UNEVEN * margins).groupby("method").any()
    found = [m for m in scattered.index[scattered] if row_titled(m).track != "reference"]
    return sorted(found, key=position)


def profile(values: np.ndarray, lower_is_better: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where the share of seeds that are better than x changes, and the share from there on.

    Values (n_seeds,), NaN of a failed seed, which is better than no x.  Gives x, increasing, and
    shares, both (number of other seeds,).
    """
    x = np.sort(values[~np.isnan(values)])
    below = np.arange(1, len(x) + 1)
    return x, (below if lower_is_better else len(x) - below) / len(values)


def performance_profiles(scores: pd.DataFrame, metric: str, heading: str) -> Figure:
    """Share of seeds with a better result than x, one panel per setting, a step for each seed.

    A method that is as good in every seed has a single high step, one that works in some seeds
    and fails in others has two far apart, wherever its mean lies (Dolan & More 2002; Agarwal et
    al. 2021).  Shown are the methods that :func:`uneven` finds, in the settings that have one of
    them, and the first champion that there is.  ``scores`` are headline rows alone.
    """
    scores = scores[scores["metric"] == metric]
    scattered = uneven(scores, metric)
    settings = list(dict.fromkeys(scores.loc[scores["method"].isin(scattered), "setting"]))
    champion = [m for m in CHAMPIONS if m in set(scores["method"])][:1]
    methods = list(dict.fromkeys([*champion, *scattered]))
    merit = CRITERIA[metric].merit
    lower_is_better = merit is not None and merit(1.0) < merit(0.0)
    shown_values = scores.loc[scores["method"].isin(methods), "value"].to_numpy()
    low, high = np.nanmin(shown_values), np.nanmax(shown_values)
    with style():
        columns = min(len(settings), PANELS)
        figure, grid = panels(len(settings), columns, size=(2.6, 2.2), margin=(0.8, 1.1))
        for axis, setting in zip(grid.flat, settings, strict=False):
            here = scores[scores["setting"] == setting]
            for method in methods:
                values = here.loc[here["method"] == method, "value"].to_numpy()
                if not len(values):
                    continue
                x, share = profile(values, lower_is_better)
                start = 0.0 if lower_is_better else len(x) / len(values)
                look = look_of(method)
                axis.step(
                    [low, *x, high], [start, *share, len(x) / len(values) - start], where="post",
                    color=look.colour, marker=look.marker, markersize=3, markevery=slice(1, -1),
                    label=method,
                )  # fmt: skip
            axis.set_title(setting)
            axis.set_ylim(-0.05, 1.05)
            fit_scale(axis, shown_values, "x")
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(metric_name(metric))
        for axis in grid[:, 0]:
            axis.set_ylabel("share of seeds\nthat are better")
        handles = {h: line for a in grid.flat for line, h in zip(*a.get_legend_handles_labels(),
                                                                strict=True)}  # fmt: skip
        shown = [method for method in methods if method in handles]
        figure.legend([handles[m] for m in shown], shown, loc="outside lower center", ncols=3)
        add_title(figure, heading)
    return figure
