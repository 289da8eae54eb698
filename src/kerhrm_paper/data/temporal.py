r"""Classification whose spurious features change over time (Lin et al., ZIN, NeurIPS
2022).

With W and t uniform on {-1, +1} and (0, 1),

.. math::
    P(Y = W) = 1 - \text{noise}, \quad S \mid W \sim N(W 1_d, I_d), \quad
    V \mid A \sim N(A 1_d, I_d), \quad X = [S, V], \quad P(A = Y) = p(t),

where p(t) is ``low`` for t < 1/2 and ``high`` from then on.  The time t is the
auxiliary variable and no feature.  In each test environment p is one of ``p_test``.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from kerhrm.options import Count, Options, Probability, Some, option
from kerhrm_paper.data.drawing import draw_parts, named_by
from kerhrm_paper.data.draws import Draws


class TemporalData(Options):
    """Temporal synthetic data of ZIN (section 5.1 of its paper)."""

    low: Probability = option(
        0.999, "share of points whose V agrees with the label, t < 1/2"
    )
    high: Probability = option(0.9, "the same for t >= 1/2")
    p_test: Annotated[Some[Probability], named_by("g")] = Field(
        [0.999, 0.8, 0.2, 0.001],
        description="the same of the test environments",
        min_length=2,
    )
    d: Count = option(5, "dimension of S and of V")
    noise: Probability = option(0.1, "share of labels that differ from W")
    n_train: Count = option(5000, "training points")
    n_validation: Count = option(1000, "validation points")
    n_test: Count = option(5000, "test points of each environment")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return self.n_train


def generate(options: TemporalData, seeds: Sequence[int]) -> Draws:
    """Draw one replicate per seed.

    Training x is (S, n_train, 2 d), its environments halves of time.

    Settings that differ in a share of agreement have the same labels and noise.
    """

    environments = {
        "train": _halves(options.n_train, options),
        "validation": _halves(options.n_validation, options),
        "test": [(options.n_test, p, 0.0, 1.0) for p in options.p_test],
    }

    def points(
        random: np.random.Generator,
        seed: int,
        n: int,
        share: float,
        start: float,
        length: float,
    ) -> tuple[np.ndarray, ...]:
        w = random.choice([-1.0, 1.0], size=n)
        draws = random.random(n)
        is_wrong = draws < options.noise
        y = np.where(is_wrong, -w, w)
        draws = random.random(n)
        agrees = draws < share
        a = np.where(agrees, y, -y)
        signs = np.stack([w, a], axis=1)
        centres = np.repeat(signs, options.d, axis=1)
        shape = (n, 2 * options.d)
        noise = random.standard_normal(shape)
        x = centres + noise
        passed = length * random.random(n)
        time = start + passed
        return x, y, time[:, None]

    names = [f"p={p:g}" for p in options.p_test]
    return Draws(
        **draw_parts(points, seeds, environments),
        test_environments=names,
        seeds=seeds,
        task="classification",
    )


def _halves(n: int, options: TemporalData) -> list[tuple[int, float, float, float]]:
    """Points, share of agreement, start and length of the two halves of time."""
    n_late = n // 2
    n_early = n - n_late
    early = (n_early, options.low, 0.0, 0.5)
    late = (n_late, options.high, 0.5, 0.5)
    return [early, late]
