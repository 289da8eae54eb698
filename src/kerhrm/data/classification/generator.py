r"""Classification with spurious correlation (the paper's first synthetic experiment).

.. math::
    S \mid Y \sim N(Y 1_d, \sigma_s^2 I_d), \quad V \mid A \sim N(A 1_d, \sigma_v^2 I_d),
    \quad X = H [S, V]^T, \quad P(A = Y) = r,

with Y uniform on {-1, +1} and H orthogonal.  Training pools two environments of bias
rates r1 and r2; the test environment reverses the correlation.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kerhrm.data.dataset import Dataset, Split, pool, stack
from kerhrm.data.mixing import Scramble, mixing_matrix
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

NoiseUnit = Literal["std", "variance"]


def generate(
    seeds: Sequence[int],
    *,
    r2: float,
    n_train_per_environment: int = 1000,
    n_validation_per_environment: int = 500,
    n_test: int = 1000,
    r1: float = 0.9,
    r_test: float = 0.1,
    d: int = 5,
    sigma_s: float = 3.0,
    sigma_v: float = 0.3,
    noise_unit: NoiseUnit = "std",
    scramble: Scramble = "fixed",
) -> Dataset:
    """Draw one data set per seed.

    Every part and environment has a random stream of its own, so the size of one shifts
    no point of another, and settings that differ in a bias rate, a sigma or the scrambling
    share labels and noise.

    Parameters
    ----------
    seeds : sequence of int, length B
    r1, r2, r_test : float in [0, 1]
        Bias rates of the two training environments and of the test environment.
    n_train_per_environment, n_validation_per_environment, n_test : int
    d : int
        Dimension of S and of V; X has 2 d columns.
    sigma_s, sigma_v : float
        Noise of S and of V.
    noise_unit : {"std", "variance"}
        What the sigmas are: standard deviations, as in the released code and in accord
        with the paper's table, or variances, as the paper's appendix says.
    scramble : {"fixed", "per_seed", "identity"}
        H: one matrix for all seeds (released code), one for each seed, or none.

    Returns
    -------
    Dataset
        Training x (B, 2 n_train_per_environment, 2 d), the environments one after another.

    Raises
    ------
    KerhrmError
        If an argument is out of its range.
    """
    if not seeds:
        raise KerhrmError("seeds is empty", "give one seed or more")
    for name, rate in (("r1", r1), ("r2", r2), ("r_test", r_test)):
        if not 0 <= rate <= 1:
            raise KerhrmError(f"{name}={rate} is no probability", "choose it from 0 to 1")
    for name, size in (
        ("n_train_per_environment", n_train_per_environment),
        ("n_validation_per_environment", n_validation_per_environment),
        ("n_test", n_test),
        ("d", d),
    ):
        if size < 1:
            raise KerhrmError(f"{name}={size} is not positive", "choose 1 or more")
    for name, sigma in (("sigma_s", sigma_s), ("sigma_v", sigma_v)):
        if not sigma > 0:
            raise KerhrmError(f"{name}={sigma} is not positive", "choose a positive number")
    if noise_unit not in ("std", "variance"):
        raise KerhrmError(
            f"noise_unit={noise_unit!r} is unknown", 'choose one of "std", "variance"'
        )
    if noise_unit == "variance":
        sigma_s, sigma_v = sigma_s**0.5, sigma_v**0.5

    def part(seed: int, name: str, rates: Sequence[float], n: int) -> Split:
        h = mixing_matrix(scramble, 2 * d, seed)
        splits = []
        for environment, r in enumerate(rates):
            random = stream(seed, "data", name, str(environment))
            s, v, y = draw(random, n, r, d, sigma_s, sigma_v)
            splits.append(Split(np.hstack([s, v]) @ h.T, y, np.full(n, environment)))
        return pool(splits)

    training_rates = (r1, r2)
    return Dataset(
        train=stack([part(s, "train", training_rates, n_train_per_environment) for s in seeds]),
        validation=stack(
            [part(s, "validation", training_rates, n_validation_per_environment) for s in seeds]
        ),
        test=stack([part(s, "test", (r_test,), n_test) for s in seeds]),
        source="synthetic",
        test_environments=[f"r={r_test:.2f}"],
        seeds=seeds,
    )


def draw(
    random: np.random.Generator, n: int, r: float, d: int, sigma_s: float, sigma_v: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, d), V (n, d) and Y (n,) of one environment; sigmas are deviations."""
    y = random.choice([-1.0, 1.0], size=n)
    a = np.where(random.random(n) < r, y, -y)
    s = y[:, None] + sigma_s * random.standard_normal((n, d))
    v = a[:, None] + sigma_v * random.standard_normal((n, d))
    return s, v, y
