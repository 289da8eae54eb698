"""Laws of tables with a numeric target, with environments and without.

A law draws inputs (n, d) and targets (n,) of n rows.  The order of its draws is part of
it: another order gives other numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_diabetes

from kerhrm_paper.studies.noises import (
    NOISES,
    SCALES,
    Noise,
    Rows,
    Scale,
    constant,
    exponential,
    gaussian,
    t2,
)
from kerhrm_paper.studies.study import Array

Points = tuple[Array, Array]
Law = Callable[[Rows], Points]
#: targets, (n,), by a linear combination of the inputs
Target = Callable[[Rows, Array], Array]

#: coefficients of six inputs
COEFFICIENTS = [1.0, -1.0, 0.5, 0.5, 0.0, 0.0]
MEAN = np.array(COEFFICIENTS)


# --- laws with a linear mean ----------------------------------------------------------


@dataclass(frozen=True)
class Linear:
    """The coefficient of the first of d inputs is -1 in a share of the rows, else 1."""

    noise: Noise = gaussian
    scale: Scale = constant
    flipped: float = 0.0  #: that share
    sd: float = 1.0  #: of the noise
    d: int = 10

    def __call__(self, rows: Rows) -> Points:
        """Draw some rows."""
        x = rows.normal(self.d)
        first, *_ = x.T
        pattern = [1.0, -1.0, 0.5, -0.5]
        coefficients = np.resize(pattern, self.d)
        mean = x @ coefficients
        scale = self.scale(x, mean)
        sd = self.sd * scale
        noise = sd * self.noise(rows)
        is_flipped = rows.hidden(self.flipped)
        flip = 2 * first * is_flipped
        return x, mean - flip + noise


@dataclass(frozen=True)
class Grouped:
    """Six inputs; in a hidden fifth of the rows something but no slope differs."""

    inputs: float = 0.0  #: added to every input there
    scale: float = 1.0  #: of the noise there
    intercept: float = 0.0

    def __call__(self, rows: Rows) -> Points:
        """Draw some rows."""
        hidden = rows.hidden(0.2)
        shift = self.inputs * hidden
        x = rows.normal(6)
        x += shift[:, None]
        sd = np.where(hidden, self.scale, 1.0)
        noise = sd * rows.noise()
        mean = x @ COEFFICIENTS
        intercept = self.intercept * hidden
        return x, mean + intercept + noise


@dataclass(frozen=True)
class OneHot:
    """Two inputs, and the columns of a category of eight, whose effect flips."""

    flipped: float = 0.0  #: share of the rows

    def __call__(self, rows: Rows) -> Points:
        """Draw some rows."""
        x = rows.normal(2)
        first, _ = x.T
        n = rows.n
        category = rows.random.integers(8, size=n)
        indicators = np.eye(8)
        columns = indicators[category]
        effects = np.linspace(-2, 2, 8)
        hidden = rows.hidden(self.flipped)
        sign = np.where(hidden, -1, 1)
        effect = effects[category]
        y = first + effect * sign
        y += rows.noise()
        x = np.column_stack([x, columns])
        return x, y


def skewed(rows: Rows) -> Points:
    """Noise is skewed to the right where the mean is positive, else to the left."""
    without_noise = Linear(sd=0.0)
    x, mean = without_noise(rows)
    factor = 1 + exponential(rows) / 2
    return x, mean * factor


def diabetes(rows: Rows) -> Points:
    """Some of the 442 patients of scikit-learn's diabetes data."""
    x, y = load_diabetes(return_X_y=True)
    n = len(y)
    order = rows.random.permutation(n)
    chosen = order[: rows.n]
    return x[chosen], y[chosen]


# --- laws whose target is drawn from a linear combination of the inputs ---------------


@dataclass(frozen=True)
class Targeted:
    """Six inputs, and a target drawn from a linear combination of four of them."""

    target: Target

    def __call__(self, rows: Rows) -> Points:
        """Draw some rows."""
        x = rows.normal(6)
        combination = x @ COEFFICIENTS
        return x, self.target(rows, combination)


def log_normal_target(rows: Rows, m: Array) -> Array:
    """Its logarithm is linear, with Gaussian noise."""
    logarithm = m / 1.5 + rows.noise()
    return np.exp(logarithm)


def zero_inflated(rows: Rows, m: Array) -> Array:
    """Zero in 60 % of the rows."""
    amount = np.exp(m / 2)
    return amount * rows.hidden(0.4)


def counts(rows: Rows, m: Array) -> Array:
    """Poisson."""
    rate = np.exp(m / 2)
    draws = rows.random.poisson(rate)
    return draws.astype(float)


def t2_target(rows: Rows, m: Array) -> Array:
    """Linear, with noise of infinite variance."""
    return m + t2(rows)


def pareto(rows: Rows, m: Array) -> Array:
    """Linear, with positive noise of infinite variance."""
    noise = rows.random.pareto(1.5, rows.n)
    return m + noise


def outliers(rows: Rows, m: Array) -> Array:
    """Linear; a twentieth of the rows has ten times the noise."""
    outlying = rows.hidden(0.05)
    sd = 1 + 9 * outlying
    noise = sd * rows.noise()
    return m + noise


def nonlinear(rows: Rows, m: Array) -> Array:
    """A wave and a square."""
    noise = 0.5 * rows.noise()
    wave = np.sin(2 * m)
    return wave + m**2 + noise


TARGETS: dict[str, Law] = {
    "log-normal target": Targeted(log_normal_target),
    "zero-inflated": Targeted(zero_inflated),
    "counts": Targeted(counts),
    "t2 noise": Targeted(t2_target),
    "Pareto noise": Targeted(pareto),
    "5 % outliers": Targeted(outliers),
    "nonlinear": Targeted(nonlinear),
}


# --- collections ----------------------------------------------------------------------


def homogeneous() -> dict[str, Law]:
    """Laws without environments, by name: noises of a linear mean, then targets."""
    laws: dict[str, Law] = {}
    for name, noise in NOISES.items():
        laws[f"{name} noise"] = Linear(noise)
    return laws | TARGETS  # whose t2 noise, with six inputs, replaces the first one


def scaled_noises() -> dict[str, Law]:
    """Laws without environments whose noise depends on the inputs, by name."""
    laws: dict[str, Law] = {}
    for suffix, scale in SCALES.items():
        for name in ("Gaussian", "exponential"):
            law = Linear(NOISES[name], scale)
            laws[f"{name} noise, {suffix}"] = law
    return laws


def standardised(x: Array) -> Array:
    """Inputs (n, d) with mean 0 and standard deviation 1 in each column."""
    centred = x - x.mean(0)
    return centred / x.std(0)
