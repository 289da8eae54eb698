"""Dip of a sample: how far it is from having one mode.

The dip is the least of all sup_x |F(x) - G(x)| over unimodal distributions G, F being
the sample's (Hartigan and Hartigan, Annals of Statistics 13, 1985).  A unimodal G is
convex up to its mode and concave beyond it.  So on an interval that holds the mode,
G follows the greatest convex minorant of F to its left and the least concave majorant
to its right; the interval shrinks to where these two are farthest apart, as long as
they are farther apart than F is from them outside.  The dip is half of that distance.

p-values are those of uniform samples, which have the largest dips of all that have one
mode.  Package ``diptest`` of PyPI computes the same, under a licence (GPL) that does
not go with this project's.
"""

from dataclasses import dataclass

import numpy as np

#: rows of one sample at most: sqrt(n) dip hardly changes beyond
MAX_ROWS = 4000
#: quantiles of sqrt(n) dip of uniform samples: n, and the levels 0.5, 0.1, 0.05, 0.01
#: and 0.001, of 4 000 samples each, from n = 1000 of 1 500
LEVELS = np.array([0.5, 0.1, 0.05, 0.01, 0.001])
QUANTILES: dict[int, tuple[float, ...]] = {
    20: (0.329, 0.435, 0.472, 0.543, 0.607),
    50: (0.345, 0.459, 0.495, 0.561, 0.668),
    100: (0.354, 0.472, 0.512, 0.587, 0.663),
    200: (0.362, 0.477, 0.516, 0.597, 0.712),
    500: (0.368, 0.487, 0.525, 0.614, 0.715),
    1000: (0.374, 0.495, 0.537, 0.611, 0.717),
    2000: (0.372, 0.497, 0.540, 0.632, 0.725),
    4000: (0.371, 0.491, 0.535, 0.637, 0.704),
}


@dataclass(frozen=True)
class Dip:
    """Dip of a sample, and how often one mode has such a dip.

    Attributes
    ----------
    dip : float
        From 1 / (2 n) to 1 / 4.
    p_value : float
        Between 0.001 and 1, interpolated; the ends stand for all beyond them.
    """

    dip: float
    p_value: float


def dip_test(sample: np.ndarray) -> Dip:
    """Dip of a sample (n,), of more than 4 000 values every so many of the sorted."""
    ordered = np.sort(np.asarray(sample, float))
    if len(ordered) > MAX_ROWS:
        kept = np.linspace(0, len(ordered) - 1, MAX_ROWS).round().astype(int)
        ordered = ordered[kept]
    found = dip(ordered)
    return Dip(found, _p_value(found, len(ordered)))


def dip(sample: np.ndarray) -> float:
    """Hartigan's dip of a sample (n,)."""
    values, counts = np.unique(np.asarray(sample, float), return_counts=True)
    above = np.cumsum(counts).astype(float)  # n F at each value
    below = above - counts  # and just before it
    n = above[-1]
    low, high = 0, len(values) - 1
    largest = 1.0
    while high > low:
        inside = slice(low, high + 1)
        x = values[inside]
        convex = _hull(x, below[inside], 1.0)
        concave = _hull(x, above[inside], -1.0)
        minorant = np.interp(x, x[convex], below[inside][convex])
        majorant = np.interp(x, x[concave], above[inside][concave])
        gap = majorant - minorant
        vertices = np.union1d(convex, concave)
        widest = int(vertices[gap[vertices].argmax()])
        if gap[widest] <= largest:
            break
        if widest in convex:
            left, right = widest, int(concave[np.searchsorted(concave, widest)])
        else:
            left = int(convex[np.searchsorted(convex, widest, side="right") - 1])
            right = widest
        outside_left = (above[inside] - minorant)[:left].max(initial=0.0)
        outside_right = (majorant - below[inside])[right + 1 :].max(initial=0.0)
        largest = max(largest, outside_left, outside_right)
        if (left, right) == (0, high - low):
            break
        low, high = low + left, low + right
    return float(largest / (2 * n))


def _hull(x: np.ndarray, heights: np.ndarray, sign: float) -> np.ndarray:
    """Numbers of the points on the lower hull of points (m,), sign 1; upper, -1."""
    xs, ys = x.tolist(), (sign * heights).tolist()
    hull: list[int] = []
    for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
        while len(hull) > 1:
            j, k = hull[-2], hull[-1]
            if (ys[k] - ys[j]) * (a - xs[k]) < (b - ys[k]) * (xs[k] - xs[j]):
                break
            hull.pop()
        hull.append(i)
    return np.array(hull)


def _p_value(found: float, n: int) -> float:
    """Share of uniform samples of n values with a dip as large, interpolated."""
    sizes = np.array(list(QUANTILES))
    table = np.array(list(QUANTILES.values()))
    of_n = [np.interp(np.sqrt(n), np.sqrt(sizes), column) for column in table.T]
    logarithm = np.interp(np.sqrt(n) * found, of_n, np.log(LEVELS))
    below = np.sqrt(n) * found < of_n[0]
    return 1.0 if below else float(np.exp(logarithm))
