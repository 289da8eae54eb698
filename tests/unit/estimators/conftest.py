"""Tables, most with hidden environments, and the parameters of a fast fit."""

from typing import Any, NamedTuple

import numpy as np
import pytest

#: parameters of a fast fit
SMALL: dict[str, Any] = {
    "k": (3, 5),
    "n_init": 4,
    "network": (64,),
    "random_state": 3,
}


class Table(NamedTuple):
    """Rows, targets, and whether a row's relation is turned."""

    x: np.ndarray
    y: np.ndarray
    hidden: np.ndarray

    def kept(self) -> "Table":
        """The same for all tests: none writes into it, nor a frame that shares it."""
        for values in self:
            values.setflags(write=False)
        return self


def flipped_labels(n: int, seed: int, share: float = 0.2) -> Table:
    """The first feature tells the label everywhere, the second its opposite in a share
    of rows."""
    random = np.random.default_rng(seed)
    y = random.choice([-1.0, 1.0], n)
    hidden = random.random(n) < share
    noise = 0.1 * random.normal(size=n)
    spurious = np.where(hidden, -y, y) + noise
    stable = y + random.normal(size=n)
    x = np.column_stack([stable, spurious])
    return Table(x, y, hidden)


def flipped_slopes(n: int, seed: int, share: float = 0.2) -> Table:
    """The slope of the second feature is 1, and -1 in a share of the rows; none is null
    data."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3))
    hidden = random.random(n) < share
    slope = np.where(hidden, -4.0, 4.0)
    noise = 0.8 * random.normal(size=n)
    signal = 3 * x[:, 0] + slope * x[:, 1]
    y = signal + noise + 7
    return Table(x, y, hidden)


@pytest.fixture(scope="session")
def labels() -> Table:
    return flipped_labels(400, 0).kept()


@pytest.fixture(scope="session")
def slopes() -> Table:
    return flipped_slopes(500, 0).kept()


@pytest.fixture(scope="session")
def null() -> Table:
    return flipped_slopes(300, 1, share=0.0).kept()
