r"""Share of the smaller environment above which KerHRM predicts better than ERM.

With mean errors a_1 of KerHRM and b_1 of ERM in the smaller environment, and a_2 and
b_2 in the others together, both are as good where

.. math::
    s a_1 + (1 - s) a_2 = s b_1 + (1 - s) b_2,
    \qquad s = \frac{D}{D - d},

d = a_1 - b_1 and D = a_2 - b_2.  KerHRM is better above s if d < 0 < D; at any share if
neither is above 0, which is s = 0; and above none if d is not below 0, which is s = 1.
"""

from dataclasses import dataclass

import numpy as np

from kerhrm.description.rows import environment_names
from kerhrm.progress import progress
from kerhrm.randomness import stream

DRAWS = 1000  #: of the bootstrap


@dataclass(frozen=True)
class Losses:
    """Losses of p points that neither model has seen, and what they count.

    Attributes
    ----------
    kerhrm, erm : ndarray, (p,)
        Squared errors, or 1 for a wrong label and 0 for a right one.
    memberships : ndarray, (p, K)
        In the environments.
    weights : ndarray, (p,)
        Of the points.
    """

    kerhrm: np.ndarray
    erm: np.ndarray
    memberships: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class BreakEven:
    """Break-even share of an environment among new rows.

    Attributes
    ----------
    environment : str
        The smaller one; of several, the smallest.
    share, low, high : float
        Above which KerHRM is better, and its 95 % interval: 0 at any share, 1 at none.
    now : float
        The environment's share among the rows of the fit.
    """

    environment: str
    share: float
    low: float
    high: float
    now: float

    def __str__(self) -> str:
        interval = f"95 % interval {self.low:.0%} to {self.high:.0%}"
        if self.share <= 0:
            text = "KerHRM predicts better than ERM at any share"
            return f"{text} of {self.environment} ({interval} for the least share)"
        if self.share >= 1:
            text = f"ERM predicts better whatever share {self.environment} has"
            return f"{text} ({interval} for the least share)"
        text = f"KerHRM predicts better than ERM if more than {self.share:.0%}"
        text += f" of new rows belong to {self.environment}"
        return f"{text} ({interval}; {self.now:.0%} of these rows do)"


def share_above(smaller: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Break-even shares of differences d in the smaller environment, and D in the
    others."""
    smaller = np.asarray(smaller, float)
    others = np.asarray(others, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        crossing = others / (others - smaller)
    no_worse_in_others = others <= 0
    better_in_smaller = smaller < 0
    somewhere = np.where(no_worse_in_others, 0.0, crossing)
    return np.where(better_in_smaller, somewhere, 1.0)


def break_even(losses: Losses, seed: int = 0, draws: int = DRAWS) -> BreakEven | None:
    """Break-even share of the smaller environment; None: there is one alone.

    The interval is of a bootstrap over the points: their losses are drawn anew, and
    models and memberships stay as they are.  So it says how much these points leave
    open, and not what other training rows would have given.
    """
    counts = losses.memberships * losses.weights[:, None]
    sizes = counts.sum(0)
    inhabited = sizes > 0
    if inhabited.sum() < 2:
        return None
    sizes_of_inhabited = np.where(inhabited, sizes, np.inf)
    smallest = int(sizes_of_inhabited.argmin())
    members = counts[:, smallest]
    others = counts.sum(1) - members
    difference = losses.kerhrm - losses.erm
    of_members = members * difference
    of_others = others * difference
    parts = np.column_stack([members, of_members, others, of_others])
    n = len(parts)
    random = stream(seed, "description", "break-even")
    shares = np.empty(draws)
    for draw in progress(range(draws), "draws of the bootstrap"):
        drawn = random.integers(n, size=n)
        times = np.bincount(drawn, minlength=n)
        shares[draw] = _share_of(times @ parts)
    low, high = np.quantile(shares, [0.025, 0.975])
    names = environment_names(len(sizes))
    total = sizes.sum()
    now = sizes[smallest] / total
    return BreakEven(
        environment=names[smallest],
        share=_share_of(parts.sum(0)),
        low=float(low),
        high=float(high),
        now=float(now),
    )


def _share_of(sums: np.ndarray) -> float:
    """Break-even share by sums of memberships and of differences in both parts."""
    n_members, of_members, n_others, of_others = sums
    in_members = of_members / max(n_members, 1e-300)
    in_others = of_others / max(n_others, 1e-300)
    share = share_above(in_members, in_others)
    return float(share)
