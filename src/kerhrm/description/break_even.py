r"""Share of the smaller environment at which KerHRM predicts as well as ERM.

With mean errors a_1 of KerHRM and b_1 of ERM in the smaller environment, and a_2 and
b_2 in the others together, both are as good where

.. math::
    s a_1 + (1 - s) a_2 = s b_1 + (1 - s) b_2,
    \qquad s = \frac{D}{D - d},

d = a_1 - b_1 and D = a_2 - b_2.  Where d < D, the smaller environment is where KerHRM
does better, and it predicts better *above* s: at any share, s = 0, if D is not above 0,
and at none, s = 1, if d is not below 0.  Where d > D, it predicts better *below* s: at
any share, s = 1, if d is not above 0, and at none, s = 0, if D is not below 0.  Where
d = D, both or neither is below 0, and no share matters.

Of more than two environments the others are taken together, as they are mixed now.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from kerhrm.description.rows import HARDLY_ANY, environment_names
from kerhrm.progress import progress
from kerhrm.randomness import stream

DRAWS = 1000  #: of the bootstrap
ROUNDING = 1e-12  #: share of both models' losses that a difference is by rounding


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
        At which both models are as good, and its 95 % interval; 0 or 1 where one model
        is better at any share.
    now : float
        The environment's share among the rows of the fit.
    side : {"above", "below"}
        Of this share on which KerHRM is the better model.
    better : {"KerHRM", "ERM", "neither"}
        The better model for rows mixed like those of the fit.
    several : bool
        Whether there are more than two environments.
    """

    environment: str
    share: float
    low: float
    high: float
    now: float
    side: Literal["above", "below"] = "above"
    better: Literal["KerHRM", "ERM", "neither"] = "KerHRM"
    several: bool = False

    def __str__(self) -> str:
        share = f"share of {self.environment}"
        interval = f"95 % interval {_percent(self.low)} to {_percent(self.high)}"
        end = "least" if self.side == "above" else "largest"
        of_end = f"({interval} for the {end} share)"
        always, never = (0, 1) if self.side == "above" else (1, 0)
        if self.better == "neither" and self.share in (always, never):
            return f"KerHRM and ERM predict equally well at any {share}"
        if self.share == always:
            return f"KerHRM predicts better than ERM at any {share} {of_end}"
        if self.share == never:
            whatever = f"whatever share {self.environment} has"
            return f"ERM predicts better {whatever} {of_end}"
        than = "more" if self.side == "above" else "less"
        text = f"KerHRM predicts better than ERM if {than} than {_percent(self.share)}"
        text += f" of new rows belong to {self.environment}"
        if self.several:
            text += " and the others keep their mix"
        return f"{text} ({interval}; {self.now:.0%} of these rows do)"


def _percent(share: float) -> str:
    """A share; one between 0 and 1 is rounded to neither."""
    if share in (0, 1):
        return f"{share:.0%}"
    for digits in range(16):
        text = f"{share:.{digits}%}"
        if 0 < float(text.removesuffix("%")) < 100:
            break
    return text


def share_above(smaller: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Shares above which KerHRM is better, of differences d in the smaller environment,
    and D in the others; 0 at any share, 1 at none."""
    smaller = np.asarray(smaller, float)
    others = np.asarray(others, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        crossing = others / (others - smaller)
    no_worse_in_others = others <= 0
    better_in_smaller = smaller < 0
    somewhere = np.where(no_worse_in_others, 0.0, crossing)
    return np.where(better_in_smaller, somewhere, 1.0)


def break_even_share(
    in_smaller: float, in_others: float
) -> tuple[float, Literal["above", "below"]]:
    """Break-even share of the smaller environment, and the side of it on which KerHRM
    is better, by the mean differences d in it and D in the others."""
    side: Literal["above", "below"] = "above" if in_smaller <= in_others else "below"
    return _share(in_smaller, in_others, side), side


def break_even(losses: Losses, seed: int = 0, draws: int = DRAWS) -> BreakEven | None:
    """Break-even share of the smaller environment; None: there is one alone.

    An environment with hardly any membership is none, as in the table of errors.
    The interval is of a bootstrap over the points: their losses are drawn anew, and
    models and memberships stay as they are.  So it says how much these points leave
    open, and not what other training rows would have given.
    """
    counts = losses.memberships * losses.weights[:, None]
    sizes = counts.sum(0)
    inhabited = sizes > HARDLY_ANY * losses.weights.mean()
    n_inhabited = int(inhabited.sum())
    if n_inhabited < 2:
        return None
    sizes_of_inhabited = np.where(inhabited, sizes, np.inf)
    smallest = int(sizes_of_inhabited.argmin())
    members = counts[:, smallest]
    others = counts.sum(1) - members
    difference = losses.kerhrm - losses.erm
    magnitude = np.abs(losses.kerhrm) + np.abs(losses.erm)
    difference = np.where(np.abs(difference) <= ROUNDING * magnitude, 0.0, difference)
    of_members = members * difference
    of_others = others * difference
    sizes_of_losses = members * magnitude, others * magnitude
    parts = np.column_stack([members, of_members, others, of_others, *sizes_of_losses])
    sums = parts.sum(0)
    share, side = break_even_share(*_means(sums))
    n = len(parts)
    random = stream(seed, "description", "break-even")
    shares = np.empty(draws)
    for draw in progress(range(draws), "draws of the bootstrap"):
        drawn = random.integers(n, size=n)
        times = np.bincount(drawn, minlength=n)
        shares[draw] = _share(*_means(times @ parts), side)
    low, high = np.quantile(shares, [0.025, 0.975])
    names = environment_names(len(sizes))
    total = sizes.sum()
    now = sizes[smallest] / total
    size_of_losses = counts.sum(1) @ magnitude
    return BreakEven(
        environment=names[smallest],
        share=share,
        low=float(low),
        high=float(high),
        now=float(now),
        side=side,
        better=_better(float(of_members.sum() + of_others.sum()), size_of_losses),
        several=n_inhabited > 2,
    )


def _better(difference: float, size: float) -> Literal["KerHRM", "ERM", "neither"]:
    """The better model by a sum of differences of losses of that size."""
    if abs(difference) <= ROUNDING * size:
        return "neither"
    return "KerHRM" if difference < 0 else "ERM"


def _means(sums: np.ndarray) -> tuple[float, float]:
    """Mean differences in both parts, by sums of memberships, of differences and of
    the sizes of losses; 0 where one is rounding."""
    n_members, of_members, n_others, of_others, size_of_members, size_of_others = sums
    if abs(of_members) <= ROUNDING * size_of_members:
        of_members = 0.0
    if abs(of_others) <= ROUNDING * size_of_others:
        of_others = 0.0
    in_members = of_members / max(n_members, 1e-300)
    in_others = of_others / max(n_others, 1e-300)
    return float(in_members), float(in_others)


def _share(in_smaller: float, in_others: float, side: str) -> float:
    """Break-even share of the smaller environment, with KerHRM better on a ``side``."""
    if side == "above":
        return float(share_above(np.array(in_smaller), np.array(in_others)))
    # below a share of one part is above a share of the other
    return 1 - float(share_above(np.array(in_others), np.array(in_smaller)))
