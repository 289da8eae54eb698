"""Points of environments, and intervals of means."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binomtest, ttest_1samp
from sklearn.linear_model import LinearRegression

from kerhrm.description.rows import HARDLY_ANY
from kerhrm.plots.axes import entry, legend, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def points(
    ax: "Axes",
    x: np.ndarray,
    y: np.ndarray,
    memberships: np.ndarray,
    names: Sequence[str],
    *,
    lines: bool = False,
) -> None:
    """Draw points by their most probable environment, the largest environment at the
    back.

    With ``lines``: least squares of y on x in each environment, points weighted by
    membership.
    """
    _, n_environments = memberships.shape
    likeliest = memberships.argmax(1)
    counts = np.bincount(likeliest, minlength=n_environments)
    opacity = 0.5 if lines else 0.7
    for e, name in enumerate(names):
        members = likeliest == e
        share = members.mean()
        n_larger = (counts > counts[e]).sum()
        behind = n_larger - n_environments
        ax.scatter(
            x[members],
            y[members],
            **style(e),
            s=18,
            alpha=opacity,
            linewidths=0,
            zorder=2 + 0.01 * behind,
            label=entry(f"{name} (likeliest for {share:.0%})"),
        )
        has_rows = memberships[:, e].sum() > HARDLY_ANY
        if lines and has_rows:
            line = LinearRegression()
            line.fit(x[:, None], y, sample_weight=memberships[:, e])
            ends = np.array([x.min(), x.max()])
            outputs = line.predict(ends[:, None])
            ax.plot(ends, outputs, color=style(e)["color"], zorder=3)
    legend(ax, 1.5)


def interval(values: Any, shares: bool) -> tuple[float, float, float]:
    """Mean and ends of its 95 % interval.

    Wilson's of a share, Student's of nonnegative numbers.
    """
    n = len(values)
    if shares:
        test = binomtest(int(values.sum()), n)
        low, high = test.proportion_ci(method="wilson")
        return test.statistic, low, high
    mean = float(values.mean())
    if n < 2:
        return mean, np.nan, np.nan
    low, high = ttest_1samp(values, 0).confidence_interval()
    return mean, max(0.0, low), high
