"""Rows that are drawn, and noise of a numeric target: its laws and its scales."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kerhrm_paper.studies.study import Array


@dataclass(frozen=True)
class Rows:
    """Rows of a table that is drawn from a stream of random numbers."""

    random: np.random.Generator
    n: int

    def normal(self, d: int) -> Array:
        """Independent standard normal inputs, (n, d)."""
        shape = self.n, d
        return self.random.standard_normal(shape)

    def noise(self) -> Array:
        """Standard normal noise, (n,)."""
        return self.random.standard_normal(self.n)

    def hidden(self, share: float | Array) -> Array:
        """Whether a row is of a hidden share of them, (n,)."""
        draws = self.random.random(self.n)
        return draws < share


Noise = Callable[[Rows], Array]
#: factor of the noise, (n,), by inputs and mean
Scale = Callable[[Array, Array], Array]


# --- noises: n independent draws ------------------------------------------------------


def gaussian(rows: Rows) -> Array:
    """Of mean 0 and variance 1."""
    return rows.noise()


def exponential(rows: Rows) -> Array:
    """Skewed, of mean 0 and variance 1."""
    draws = rows.random.exponential(size=rows.n)
    return draws - 1


def log_normal(rows: Rows) -> Array:
    """Skewed, with a heavy tail, of mean 0."""
    mean = np.exp(0.5)
    draws = rows.random.lognormal(size=rows.n)
    return (draws - mean) / 2


def t2(rows: Rows) -> Array:
    """Student's t with two degrees of freedom, of infinite variance."""
    return rows.random.standard_t(2, rows.n)


NOISES: dict[str, Noise] = {
    "Gaussian": gaussian,
    "exponential": exponential,
    "log-normal": log_normal,
    "t2": t2,
}


# --- scales of noise ------------------------------------------------------------------


def constant(x: Array, mean: Array) -> Array:
    """The same noise everywhere."""
    return np.ones(len(x))


def growing(x: Array, mean: Array) -> Array:
    """More noise where the first input is larger."""
    first, *_ = x.T
    return np.exp(first / 2)


def cone(x: Array, mean: Array) -> Array:
    """More noise where the first input is far from 0."""
    first, *_ = x.T
    return 0.2 + np.abs(first)


def corner(x: Array, mean: Array) -> Array:
    """Three times the noise where the first two inputs are positive."""
    first, second, *_ = x.T
    is_first = first > 0
    is_second = second > 0
    positive = is_first & is_second
    return 1.0 + 2 * positive


def multiplicative(x: Array, mean: Array) -> Array:
    """Noise in proportion to the mean."""
    return np.abs(mean) / 2


SCALES: dict[str, Scale] = {
    "scale exp(x1 / 2)": growing,
    "scale .2 + |x1|": cone,
    "scale 3 where x1, x2 > 0": corner,
    "multiplicative": multiplicative,
}
