"""A simulated housing market, for places that cannot get the house sales of King County."""

from collections.abc import Sequence

import numpy as np

from kerhrm.randomness import stream

RENOVATED_FROM = 1990


def simulate(rows: Sequence[int], edges: Sequence[int]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    r"""A hedonic market that drifts with the year of construction.

    With u = (year - first year) / (last year - first year) running from 0 to 1, and the
    distance d to the centre in units of 10 km,

    .. math::
        \log \text{price} = 13.1 + (1.0 - 0.5 u) \log(\text{living} / 1800)
        + (0.08 + 0.1 u) (\text{grade} - 7) - (0.5 - 0.35 u) d
        + 0.5\, \text{waterfront} + 0.06\, \text{view} + 0.05 (\text{condition} - 3)
        + 0.1\, \text{renovated} - 0.15 u + 0.2 N(0, 1);

    newer houses are larger, of better grade and further out.

    ``rows`` has the number of houses of each period, ``edges`` the first year of each and the
    year after the last one; given back are all predictors by name, each (N,), and the price
    (N,) in US dollars.
    """
    random = stream(0, "data", "houses", "stand-in")
    n = sum(rows)
    normal, uniform = random.standard_normal, random.random

    def whole(values: np.ndarray, least: float, most: float, step: float = 1.0) -> np.ndarray:
        return np.clip(np.round(values / step) * step, least, most)

    year = np.concatenate(
        [random.integers(edges[i], edges[i + 1], count) for i, count in enumerate(rows)]
    )
    u = (year - edges[0]) / (edges[-1] - 1 - edges[0])
    quality = normal(n)
    log_size = 7.4 + 0.3 * u + 0.3 * quality + 0.25 * normal(n)  # of square feet
    living = whole(np.exp(log_size), 400, 12_000, 10)
    basement = whole(np.where(uniform(n) < 0.4, living * (0.2 + 0.25 * uniform(n)), 0), 0, 5000, 10)
    east, north = (5 + 10 * u) * normal((2, n))  # kilometres from the centre
    distance = np.hypot(east, north)
    log_lot = 8.6 + 0.03 * distance + 0.5 * normal(n)
    renovated = (uniform(n) < 0.2 * (1 - u) ** 2) & (year < RENOVATED_FROM)
    columns = {
        "bedrooms": whole(3.2 + 1.5 * (log_size - 7.5) + 0.6 * normal(n), 1, 9),
        "bathrooms": whole(1.6 + 0.9 * u + 0.5 * quality + 0.3 * normal(n), 0.75, 7, 0.25),
        "sqft_living": living,
        "sqft_lot": whole(np.exp(log_lot), 600, 500_000),
        "floors": whole(1.2 + 0.7 * u + 0.4 * normal(n), 1, 3, 0.5),
        "waterfront": (uniform(n) < 0.008).astype(float),
        "view": np.where(uniform(n) < 0.1, random.integers(1, 5, n), 0),
        "condition": whole(3.8 - 0.7 * u + 0.6 * normal(n), 1, 5),
        "grade": whole(6.8 + 1.2 * u + 0.9 * quality + 0.4 * normal(n), 4, 13),
        "sqft_above": living - basement,
        "sqft_basement": basement,
        "yr_built": year,
        "yr_renovated": np.where(renovated, random.integers(RENOVATED_FROM, edges[-1], n), 0),
        "lat": 47.61 + north / 111,
        "long": -122.33 + east / 75,
        "sqft_living15": whole(np.exp(log_size - 0.05 + 0.2 * normal(n)), 400, 8000, 10),
        "sqft_lot15": whole(np.exp(log_lot + 0.2 * normal(n)), 600, 500_000),
    }
    log_price = (
        13.1
        + (1.0 - 0.5 * u) * np.log(living / 1800)
        + (0.08 + 0.1 * u) * (columns["grade"] - 7)
        - (0.5 - 0.35 * u) * distance / 10
        + 0.5 * columns["waterfront"]
        + 0.06 * columns["view"]
        + 0.05 * (columns["condition"] - 3)
        + 0.1 * renovated
        - 0.15 * u
        + 0.2 * normal(n)
    )
    return columns, np.round(np.exp(log_price))
