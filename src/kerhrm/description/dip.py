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
    floats = np.asarray(sample, float)
    ordered = np.sort(floats)
    last = len(ordered) - 1
    if len(ordered) > MAX_ROWS:
        even = np.linspace(0, last, MAX_ROWS)
        kept = even.round().astype(int)
        ordered = ordered[kept]
    found = dip(ordered)
    p_value = _p_value(found, len(ordered))
    return Dip(found, p_value)


def dip(sample: np.ndarray) -> float:
    """Hartigan's dip of a sample (n,)."""
    floats = np.asarray(sample, float)
    values, counts = np.unique(floats, return_counts=True)
    cumulative = np.cumsum(counts)
    above = cumulative.astype(float)  # n F at each value
    below = above - counts  # and just before it
    n = above[-1]
    low = 0
    high = len(values) - 1
    largest = 1.0
    while high > low:
        inside = slice(low, high + 1)
        x = values[inside]
        f_below = below[inside]
        f_above = above[inside]
        convex = _hull(x, f_below, 1.0)
        concave = _hull(x, f_above, -1.0)
        minorant = np.interp(x, x[convex], f_below[convex])
        majorant = np.interp(x, x[concave], f_above[concave])
        gap = majorant - minorant
        vertices = np.union1d(convex, concave)
        place = gap[vertices].argmax()
        widest = int(vertices[place])
        if gap[widest] <= largest:
            break
        left = right = widest
        if widest in convex:
            next_concave = np.searchsorted(concave, widest)
            right = int(concave[next_concave])
        else:
            next_convex = np.searchsorted(convex, widest, side="right")
            left = int(convex[next_convex - 1])
        to_minorant = f_above - minorant
        to_majorant = majorant - f_below
        gaps_left = to_minorant[:left]
        outside_left = gaps_left.max(initial=0.0)
        gaps_right = to_majorant[right + 1 :]
        outside_right = gaps_right.max(initial=0.0)
        largest = max(largest, outside_left, outside_right)
        if (left, right) == (0, high - low):
            break
        high = low + right
        low = low + left
    return float(largest / (2 * n))


def _hull(x: np.ndarray, heights: np.ndarray, sign: float) -> np.ndarray:
    """Numbers of the points on the lower hull of points (m,), sign 1; upper, -1."""
    xs = x.tolist()
    signed = sign * heights
    ys = signed.tolist()
    hull: list[int] = []
    for i, (a, b) in enumerate(zip(xs, ys, strict=True)):
        while len(hull) > 1:
            j, k = hull[-2:]
            rise_to_k = ys[k] - ys[j]
            run_to_k = xs[k] - xs[j]
            rise = b - ys[k]
            run = a - xs[k]
            if rise_to_k * run < rise * run_to_k:
                break
            hull.pop()
        hull.append(i)
    return np.array(hull)


def _p_value(found: float, n: int) -> float:
    """Share of uniform samples of n values with a dip as large, interpolated."""
    sizes_of_samples = list(QUANTILES)
    sizes = np.array(sizes_of_samples)
    rows_of_quantiles = list(QUANTILES.values())
    table = np.array(rows_of_quantiles)
    roots = np.sqrt(sizes)
    root = np.sqrt(n)
    quantiles = [np.interp(root, roots, column) for column in table.T]
    scaled_dip = root * found
    if scaled_dip < quantiles[0]:
        return 1.0
    log_levels = np.log(LEVELS)
    logarithm = np.interp(scaled_dip, quantiles, log_levels)
    return float(np.exp(logarithm))
