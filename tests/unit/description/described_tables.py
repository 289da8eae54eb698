"""Tables with known environments, as a description reads them."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kerhrm.description.rows import DescribedRows


class Turned(NamedTuple):
    """Sorted rows, and which of them have the other slope."""

    rows: DescribedRows
    hidden: np.ndarray

    @property
    def memberships(self) -> np.ndarray:
        """Certain ones."""
        of_each = np.column_stack([~self.hidden, self.hidden])
        return of_each.astype(float)


def turned(n: int = 300, seed: int = 0, place: float = 1.0) -> Turned:
    """The slope of ``rating`` is -2 where ``place`` is 1, in a ``place`` of these
    rows, and 2 elsewhere."""
    random = np.random.default_rng(seed)
    amounts = random.normal(size=(n, 2))
    is_place = random.random(n) < 0.3
    x = np.column_stack([amounts, is_place])
    is_turned = random.random(n) < place
    hidden = is_place & is_turned
    slope = np.where(hidden, -2.0, 2.0)
    noise = 0.3 * random.normal(size=n)
    y = x[:, 0] + slope * x[:, 1] + noise
    names = ["size", "rating", "place"]
    rows = sorted_rows(x, y, names=names)
    return Turned(rows, hidden[rows.order])


def sorted_rows(x: np.ndarray, y: np.ndarray, **given: Any) -> DescribedRows:
    """Rows with names of their columns, and numbers for labels."""
    numbered = [f"c{j}" for j in range(x.shape[1])]
    names = given.pop("names", numbered)
    labels = pd.RangeIndex(len(y))
    return DescribedRows.sort(x, y, names, labels, **given)
