r"""Regression with selection bias (the paper's second synthetic experiment).

.. math::
    Z \sim N(0, I_{n_s + 1}), \quad S_i = 0.8 Z_i + 0.2 Z_{i+1}, \quad
    V \sim N(0, \tau^2 I_{n_v}), \quad
    Y = \theta_s^T S + \beta S_1 S_2 S_3 + \epsilon, \quad X = H [S, V]^T,

of which a point is kept with probability

.. math:: |r|^{-5 |Y - \mathrm{sign}(r) V_b|}, \qquad |r| > 1,

where V_b is the last of V; of several variables, the probability is the product.  So r > 0 ties
V_b to Y, r < 0 ties it to -Y, and V is of no use to whom r is unknown.  Training pools two
environments of opposite sign; the test environments all have r < 0.

Selection looks at the noisy Y, so it tilts P(Y | S) as well, by a function of Y and |r|
(:func:`kerhrm.scoring.truths.kept_given_y`): invariant across environments is P(Y | S) only
where |r| is equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerhrm.data.dataset import Dataset
from kerhrm.data.drawing import draw_parts, mixing_matrix
from kerhrm.data.regression.options import RegressionData

POOL = 8192  # points drawn at a time; another value makes other data


@dataclass(frozen=True)
class Constants:
    """What the paper and its released code disagree about."""

    theta: tuple[float, ...]  #: |theta_s|, repeated as often as n_s asks for; signs alternate
    noise: float  #: standard deviation of epsilon
    tau: float  #: standard deviation of V


CONSTANTS = {
    "released": Constants(theta=(0.5, 1.0, 1.5), noise=1.0, tau=2.0),
    # The appendix has N(0, 0.3): a standard deviation, as it is in the authors' code for the
    # same experiment in their earlier work (HRM, ICML 2021).
    "paper": Constants(theta=(0.5, 1.0, 1.0), noise=0.3, tau=1.0),
}


def constants_of(options: RegressionData) -> Constants:
    """The constants of a data set: those that ``constants`` names, and what is told of each."""
    usual = CONSTANTS[options.constants]
    return Constants(
        theta=tuple(options.theta_s or usual.theta),
        noise=options.noise or usual.noise,
        tau=options.tau or usual.tau,
    )


def generate(options: RegressionData, seeds: Sequence[int]) -> Dataset:
    """Draw one data set per seed; training x is (B, n_train[0] + n_train[1], n_s + n_v).

    Settings that differ in r or the scenario share pools and noise, and a larger environment
    begins with the points of a smaller one.
    """
    # At least one point of each: a rule may look for the worse of the two.
    second = round(options.n_validation * options.n_train[1] / sum(options.n_train))
    second = min(max(second, 1), options.n_validation - 1)
    training = (options.r, options.r_second)
    biases = {"train": training, "validation": training, "test": options.test_r}
    sizes = {
        "train": options.n_train,
        "validation": (options.n_validation - second, second),
        "test": [options.n_test] * len(options.test_r),
    }
    scramble = "identity" if options.scenario == 1 else options.scramble

    def points(
        random: np.random.Generator, seed: int, part: str, environment: int
    ) -> tuple[np.ndarray, np.ndarray]:
        s, v, y = draw(random, sizes[part][environment], biases[part][environment], options)
        x = np.hstack([s, v])
        return x @ mixing_matrix(scramble, x.shape[1], seed).T, y

    return Dataset(
        **draw_parts(points, seeds, {part: len(r) for part, r in biases.items()}),
        source="synthetic",
        test_environments=[f"r={r:g}" for r in options.test_r],
        seeds=seeds,
        task="regression",
    )


def draw(
    random: np.random.Generator, n: int, r: float, options: RegressionData
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, n_s), V (n, n_v) and Y (n,) of one environment, by selection.

    The released code selects from a pool of 10^6 and keeps as many as it needs, which is the
    same distribution.
    """
    tau = constants_of(options).tau
    pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    while sum(len(y) for _, _, y in pieces) < n:
        s, y, f = draw_unselected(random, POOL, options)
        v = tau * random.standard_normal((POOL, options.n_v))
        near = y if options.selected_on == "label" else f
        v_b = v[:, -options.selected_by :].T
        kept = random.random(POOL) < selection_probability(near, v_b, r).prod(axis=0)
        pieces.append((s[kept], v[kept], y[kept]))
    s, v, y = (np.concatenate(arrays)[:n] for arrays in zip(*pieces, strict=True))
    return s, v, y


def draw_unselected(
    random: np.random.Generator, n: int, options: RegressionData
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, n_s), Y (n,) and the noise-free f(S) (n,) before any selection."""
    constants, n_s = constants_of(options), options.n_s
    z = random.standard_normal((n, n_s + 1))
    s = 0.8 * z[:, :-1] + 0.2 * z[:, 1:]
    theta = np.resize(constants.theta, n_s) * (-1.0) ** np.arange(n_s)
    f = s @ theta + options.beta * s[:, 0] * s[:, 1] * s[:, 2]
    return s, f + constants.noise * random.standard_normal(n), f


def selection_probability(y: np.ndarray, v_b: np.ndarray, r: float) -> np.ndarray:
    """Probability |r|^(-5 |y - sign(r) V_b|) that a point is kept, by one variable: (..., n)."""
    return np.asarray(np.abs(r) ** (-5 * np.abs(y - np.sign(r) * v_b)))
