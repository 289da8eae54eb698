"""Whether other seeds and half of the rows give the same split."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import adjusted_rand_score

from kerhrm.progress import progress
from kerhrm.randomness import some_of, stream

#: of a median index from a number on
WORDS = (
    (0.9, "excellent"),
    (0.8, "good"),
    (0.65, "moderate"),
    (-math.inf, "poor"),
)
#: likeliest environments (n,) of all rows, by a fit to some of them with a seed; None:
#: there was no such fit
Relabel = Callable[[np.ndarray, int], np.ndarray | None]


@dataclass(frozen=True)
class Stability:
    """Agreement of splits of half of the rows with the one that is described.

    Attributes
    ----------
    indices : tuple of float
        Adjusted Rand indices over all rows, one for each seed: 1 is the same split, 0
        what chance would give.
    """

    indices: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median index."""
        return float(np.median(self.indices))

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest index."""
        return min(self.indices), max(self.indices)

    def __str__(self) -> str:
        low, high = (round(end, 2) + 0.0 for end in self.range)  # no negative zero
        number = len(self.indices)
        agreement = f"{number} splits of half of the rows agree with this one to "
        agreement += f"{self.median:.2f} ({low:.2f} to {high:.2f}"
        scale = "adjusted Rand index: 1 is the same split, 0 is chance"
        return f"{self.word}: {agreement}; {scale})"

    @property
    def word(self) -> str:
        """The median index in a word (Steinley, Psychological Methods 9(3), 2004)."""
        median = self.median
        return next(word for least, word in WORDS if median >= least)


def stability(
    likeliest: np.ndarray, relabel: Relabel, times: int, seed: int
) -> Stability | None:
    """Compare a split (n,) with those of half samples; None if none can be fitted, or
    all rows are likeliest in one environment, which nothing can agree with.

    Parameters
    ----------
    likeliest : ndarray, (n,), int64
        The split.
    relabel : callable
        Splits all rows by a fit to some; -1 of a row that it cannot place, which does
        not count.
    times : int
        Half samples, each with a seed of its own.
    seed : int
        Draws them.
    """
    n = len(likeliest)
    if not separates(likeliest):
        return None
    indices = []
    for number in progress(range(times), "splits of half of the rows"):
        random = stream(seed, "description", "half", f"{number}")
        half = some_of(random, n, n // 2)
        labels = relabel(half, seed + number + 1)
        if labels is not None:
            placed = labels >= 0
            index = 0.0  # and not 1, as scikit-learn has it where both separate nothing
            if separates(labels[placed]):
                index = adjusted_rand_score(likeliest[placed], labels[placed])
            indices.append(float(index))
    if not indices:
        return None
    return Stability(tuple(indices))


def separates(labels: np.ndarray) -> bool:
    """Whether not all rows (n,) have the same label."""
    return len(np.unique(labels)) > 1
