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
        return np.column_stack([~self.hidden, self.hidden]).astype(float)


def turned(n: int = 300, seed: int = 0, place: float = 1.0) -> Turned:
    """The slope of ``rating`` is -2 where ``place`` is 1, in a ``place`` of these
    rows, and 2 elsewhere."""
    random = np.random.default_rng(seed)
    x = np.column_stack([random.normal(size=(n, 2)), random.random(n) < 0.3])
    hidden = (x[:, 2] == 1) & (random.random(n) < place)
    y = x[:, 0] + np.where(hidden, -2.0, 2.0) * x[:, 1] + 0.3 * random.normal(size=n)
    rows = sorted_rows(x, y, names=["size", "rating", "place"])
    return Turned(rows, hidden[rows.order])


def sorted_rows(x: np.ndarray, y: np.ndarray, **given: Any) -> DescribedRows:
    """Rows with names of their columns, and numbers for labels."""
    names = given.pop("names", [f"c{j}" for j in range(x.shape[1])])
    return DescribedRows.sort(x, y, names, pd.RangeIndex(len(y)), **given)
