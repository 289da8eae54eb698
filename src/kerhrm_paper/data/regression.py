r"""Regression with selection bias (the paper's second synthetic experiment).

.. math::
    Z \sim N(0, I_{n_s + 1}), \quad S_i = 0.8 Z_i + 0.2 Z_{i+1}, \quad
    V \sim N(0, \tau^2 I_{n_v}), \quad
    Y = \theta_s^T S + \beta S_1 S_2 S_3 + \epsilon, \quad X = H [S, V]^T,

of which a point is kept with probability

.. math:: |r|^{-5 |Y - \mathrm{sign}(r) V_b|}, \qquad |r| > 1,

where V_b is the last of V; of several variables, the probability is the product.  So r
> 0 ties V_b to Y, r < 0 ties it to -Y, and V is of no use where r is unknown.  Training
pools two environments of opposite sign; the test environments all have r < 0.

Selection looks at the noisy Y, so it tilts P(Y | S) as well, by a function of Y and |r|
(:func:`kerhrm_paper.data.closed_forms.kept_given_y`): P(Y | S) is invariant only where
|r| is equal.  theta_s and the deviations of the noise and of V are the authors' code's;
the paper's appendix has (0.5, 1, 1) and N(0, 0.3).
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from kerhrm.options import (
    Count,
    Finite,
    NotBool,
    Options,
    PositiveFloat,
    Some,
    misfit,
    option,
)
from kerhrm_paper.data.drawing import draw_parts, mixing_matrix, named_by
from kerhrm_paper.data.draws import Draws

POOL = 8192  # points drawn at a time; another value makes other data


def _beyond_one(r: float) -> float:
    if not abs(r) > 1:
        raise ValueError("a selection bias needs |r| > 1")
    return r


Bias = Annotated[Finite, AfterValidator(_beyond_one)]


class RegressionData(Options):
    """Regression with selection bias (paper, section 5.1 and appendix)."""

    scenario: Annotated[Literal[1, 2], NotBool] = option(2, "1: H = I; 2: H orthogonal")
    r: Bias = option(1.5, "selection bias of the first training environment")
    r_second: Bias = option(-1.1, "selection bias of the second one")
    test_r: Annotated[Some[Bias], named_by("g")] = option(
        [-2.9, -2.7, -2.5, -2.3, -2.1, -1.9], "of the test environments"
    )
    scramble: Literal["fixed", "per_seed"] = option(
        "fixed", "H of scenario 2: one, or one a seed"
    )
    theta_s: Some[PositiveFloat] = option(
        [0.5, 1.0, 1.5], "|theta_s|, repeated, signs alternate"
    )
    noise: PositiveFloat = option(1.0, "standard deviation of Y's noise")
    tau: PositiveFloat = option(2.0, "standard deviation of V")
    selected_by: Count = option(
        1, "V_b: how many variables, the last ones of V, select together"
    )
    selected_on: Literal["label", "structural"] = option(
        "label", "what V_b is near to: Y, or f(S)"
    )
    n_train: tuple[Count, Count] = option(
        (1000, 100), "training points of the two environments"
    )
    n_validation: Annotated[int, Field(ge=2), NotBool] = option(
        550, "split as the training points"
    )
    n_test: Count = option(1000, "points of each test environment")
    beta: Finite = option(5.0, "weight of S_1 S_2 S_3 in Y")
    n_s: Annotated[int, Field(ge=3), NotBool] = option(5, "dimension of S")
    n_v: Count = option(5, "dimension of V")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return sum(self.n_train)

    @model_validator(mode="after")
    def _v_b_is_in_v(self) -> Self:
        if self.selected_by > self.n_v:
            problem = f"V has {self.n_v} variables; lower it or raise n_v"
            raise misfit(problem, "selected_by")
        return self


def generate(options: RegressionData, seeds: Sequence[int]) -> Draws:
    """Draw one replicate per seed.

    Training x is (S, n_train[0] + n_train[1], n_s + n_v).

    Settings that differ in r or the scenario share pools and noise, and a larger
    environment begins with the points of a smaller one.
    """
    training_biases = (options.r, options.r_second)
    n_validation = _validation_sizes(options)
    environments = {
        "train": [*zip(options.n_train, training_biases, strict=True)],
        "validation": [*zip(n_validation, training_biases, strict=True)],
        "test": [(options.n_test, r) for r in options.test_r],
    }
    scramble = "identity" if options.scenario == 1 else options.scramble

    def points(
        random: np.random.Generator, seed: int, n: int, r: float
    ) -> tuple[np.ndarray, ...]:
        s, v, y = draw(random, n, r, options)
        unmixed = np.hstack([s, v])
        _, d = unmixed.shape
        h = mixing_matrix(scramble, d, seed)
        return unmixed @ h.T, y

    names = [f"r={r:g}" for r in options.test_r]
    return Draws(
        **draw_parts(points, seeds, environments),
        test_environments=names,
        seeds=seeds,
        task="regression",
    )


def _validation_sizes(options: RegressionData) -> tuple[int, int]:
    """Validation points of the two environments, in the ratio of the training points.

    At least one point of each: a rule may look for the worse of the two.
    """
    n = options.n_validation
    n_train = sum(options.n_train)
    _, n_train_second = options.n_train
    n_second = round(n * n_train_second / n_train)
    n_second = max(n_second, 1)
    n_second = min(n_second, n - 1)
    return n - n_second, n_second


def draw(
    random: np.random.Generator, n: int, r: float, options: RegressionData
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, n_s), V (n, n_v) and Y (n,) of one environment, by selection.

    The released code selects from a pool of 10^6 and keeps as many as it needs, which
    is the same distribution.
    """
    selected: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    n_selected = 0
    while n_selected < n:
        s, y, f = draw_unselected(random, POOL, options)
        shape = (POOL, options.n_v)
        noise = random.standard_normal(shape)
        v = options.tau * noise
        near = y if options.selected_on == "label" else f
        biased = v[:, -options.selected_by :]
        v_b = biased.T
        probabilities = selection_probability(near, v_b, r)
        probability = probabilities.prod(axis=0)
        draws = random.random(POOL)
        kept = draws < probability
        selected.append((s[kept], v[kept], y[kept]))
        n_kept = kept.sum()
        n_selected += int(n_kept)
    by_array = zip(*selected, strict=True)
    s, v, y = (np.concatenate(arrays)[:n] for arrays in by_array)
    return s, v, y


def draw_unselected(
    random: np.random.Generator, n: int, options: RegressionData
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, n_s), Y (n,) and the noise-free f(S) (n,) before any selection."""
    n_s = options.n_s
    shape = (n, n_s + 1)
    z = random.standard_normal(shape)
    here = z[:, :-1]
    following = z[:, 1:]
    s = 0.8 * here + 0.2 * following
    powers = np.arange(n_s)
    signs = (-1.0) ** powers
    theta = np.resize(options.theta_s, n_s)
    theta = theta * signs
    first, second, third, *_ = s.T
    product = options.beta * first * second * third
    f = s @ theta + product
    noise = random.standard_normal(n)
    epsilon = options.noise * noise
    return s, f + epsilon, f


def selection_probability(y: np.ndarray, v_b: np.ndarray, r: float) -> np.ndarray:
    """Probability |r|^(-5 |y - sign(r) V_b|) that a point is kept, by one variable.

    Shapes (..., n).
    """
    turned = np.sign(r) * v_b
    distance = np.abs(y - turned)
    exponents = -5 * distance
    probability = np.abs(r) ** exponents
    return np.asarray(probability)
