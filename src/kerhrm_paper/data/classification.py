r"""Classification with spurious correlation (the paper's first synthetic experiment).

.. math::
    S \mid Y \sim N(Y 1_d, \sigma_s^2 I_d), \quad V \mid A \sim N(A 1_d, \sigma_v^2
    I_d), \quad X = H [S, V]^T, \quad P(A = Y) = r,

with Y uniform on {-1, +1} and H orthogonal.  Training pools two environments of bias
rates r1 and r2; test environments have other ones.  With ``spurious="S"`` the parts
swap roles: it is S that follows A.  The part that is not spurious follows B with P(B =
Y) = ``agreement``, 1 in the paper, in every environment.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from kerhrm.options import (
    Count,
    NotBool,
    Options,
    PositiveFloat,
    Probability,
    Some,
    option,
)
from kerhrm_paper.data.drawing import Scramble, draw_parts, mixing_matrix, named_by
from kerhrm_paper.data.draws import Draws


class ClassificationData(Options):
    """Classification with spurious correlation (paper, section 5.1)."""

    r1: Probability = option(0.9, "bias rate of the first training environment")
    r2: Probability = option(0.7, "bias rate of the second one")
    r_test: Annotated[Some[Probability], named_by(".2f")] = option(
        [0.1], "bias rates of the test environments; test_acc is of the first one"
    )
    spurious: Literal["V", "S"] = option("V", "the part that the bias rates are of")
    agreement: Annotated[float, Field(gt=0.5, le=1), NotBool] = option(
        1.0, "share of points whose other part agrees with the label"
    )
    d: Count = option(5, "dimension of S and of V")
    sigma_s: PositiveFloat = option(3.0, "noise of S")
    sigma_v: PositiveFloat = option(0.3, "noise of V")
    noise_unit: Literal["std", "variance"] = option(
        "std", "of the sigmas; the appendix: variance"
    )
    scramble: Scramble = option("fixed", "H: one for all seeds, one for each, or none")
    n_train_per_environment: Count = option(1000, "training points of each environment")
    n_validation_per_environment: Count = option(500, "likewise for validation")
    n_test: Count = option(1000, "points of each test environment")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_train_per_environment


def generate(options: ClassificationData, seeds: Sequence[int]) -> Draws:
    """Draw one replicate per seed; training x is (S, 2 n_train_per_environment, 2 d).

    Settings that differ in a bias rate, a sigma or the scrambling share labels and
    noise.
    """
    n_train = options.n_train_per_environment
    n_validation = options.n_validation_per_environment
    training_rates = (options.r1, options.r2)
    environments = {
        "train": [(n_train, r) for r in training_rates],
        "validation": [(n_validation, r) for r in training_rates],
        "test": [(options.n_test, r) for r in options.r_test],
    }

    def points(
        random: np.random.Generator, seed: int, n: int, r: float
    ) -> tuple[np.ndarray, ...]:
        s, v, y = draw(random, n, r, options)
        unmixed = np.hstack([s, v])
        n_inputs = 2 * options.d
        h = mixing_matrix(options.scramble, n_inputs, seed)
        x = unmixed @ h.T
        return x, y

    names = [f"r_test={r:.2f}" for r in options.r_test]
    return Draws(
        **draw_parts(points, seeds, environments),
        test_environments=names,
        seeds=seeds,
        task="classification",
        n_headline=1,
    )


def draw(
    random: np.random.Generator, n: int, r: float, options: ClassificationData
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, d), V (n, d) and Y (n,) of one environment."""
    sigma_s, sigma_v = deviations(options)
    y = random.choice([-1.0, 1.0], size=n)
    draws = random.random(n)
    follows_rate = draws < r
    a = np.where(follows_rate, y, -y)
    shape = (2, n, options.d)
    noise_s, noise_v = random.standard_normal(shape)
    draws = random.random(n)
    agrees = draws < options.agreement
    b = np.where(agrees, y, -y)
    if options.spurious == "V":
        mean_s = b
        mean_v = a
    else:
        mean_s = a
        mean_v = b
    deviation_s = sigma_s * noise_s
    deviation_v = sigma_v * noise_v
    s = mean_s[:, None] + deviation_s
    v = mean_v[:, None] + deviation_v
    return s, v, y


def deviations(options: ClassificationData) -> tuple[float, float]:
    """Standard deviations of S given Y, and of V given A."""
    power = 0.5 if options.noise_unit == "variance" else 1.0
    return options.sigma_s**power, options.sigma_v**power
