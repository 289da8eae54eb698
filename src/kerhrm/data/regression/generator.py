r"""Regression with selection bias (the paper's second synthetic experiment).

.. math::
    Z \sim N(0, I_{n_s + 1}), \quad S_i = 0.8 Z_i + 0.2 Z_{i+1}, \quad
    V \sim N(0, \tau^2 I_{n_v}), \quad
    Y = \theta_s^T S + \beta S_1 S_2 S_3 + \epsilon, \quad X = H [S, V]^T,

of which a point is kept with probability

.. math:: |r|^{-5 |Y - \mathrm{sign}(r) V_b|}, \qquad |r| > 1,

where V_b is the last of V.  So r > 0 ties V_b to Y, r < 0 ties it to -Y, and V is of no
use to whom r is unknown.  Training pools two environments of opposite sign; the test
environments all have r < 0.

Selection looks at the noisy Y, so it tilts P(Y | S) as well, by a function of Y and |r|
(:func:`kerhrm.scoring.truths.kept_given_y`): invariant across environments is P(Y | S) only
where |r| is equal.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kerhrm.data.dataset import Dataset, Split, pool, stack
from kerhrm.data.mixing import mixing_matrix
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

Scramble = Literal["fixed", "per_seed"]

POOL = 8192  # points drawn at a time; another value makes other data


@dataclass(frozen=True)
class Constants:
    """What the paper and its released code disagree about.

    Attributes
    ----------
    theta : tuple of float
        Absolute values of theta_s, repeated as often as n_s asks for; signs alternate.
    noise : float
        Standard deviation of epsilon.
    tau : float
        Standard deviation of V.
    """

    theta: tuple[float, ...]
    noise: float
    tau: float


CONSTANTS = {
    "released": Constants(theta=(0.5, 1.0, 1.5), noise=1.0, tau=2.0),
    "paper": Constants(theta=(0.5, 1.0, 1.0), noise=0.3, tau=1.0),
}


def generate(
    seeds: Sequence[int],
    *,
    r: float,
    scenario: Literal[1, 2] = 2,
    constants: Literal["released", "paper"] = "released",
    n_train: tuple[int, int] = (1000, 100),
    n_validation: int = 550,
    n_test: int = 1000,
    r_second: float = -1.1,
    test_r: Sequence[float] = (-2.9, -2.7, -2.5, -2.3, -2.1, -1.9),
    beta: float = 5.0,
    n_s: int = 5,
    n_v: int = 5,
    scramble: Scramble = "fixed",
) -> Dataset:
    """Draw one data set per seed.

    Points are drawn until enough are selected; the published code selects from a pool of
    10^6 and keeps as many as it needs, which is the same distribution.  Every part and
    environment has a random stream of its own, so the size of one shifts no point of another
    (nor any earlier point of its own), and settings that differ in r or the scenario share
    pools and noise.

    Parameters
    ----------
    seeds : sequence of int, length B
    r, r_second : float
        Selection bias of the two training environments, beyond 1 in absolute value.
    scenario : {1, 2}
        1: H = I; 2: H is a random orthogonal matrix.
    constants : {"released", "paper"}
        theta_s = (1/2, -1, 3/2, -1/2, 1), noise 1.0 and V's deviation 2, as in the released
        code; or (1/2, -1, 1, -1/2, 1), N(0, 0.3) and N(0, 1), as in the paper's appendix.
        The second argument of N(0, 0.3) is read as a standard deviation, which it is in the
        authors' code for the same experiment in their earlier work (HRM, ICML 2021).
    n_train : (int, int)
        Points of the two training environments.
    n_validation : int
        Validation points, split between the two environments as the training points are.
    n_test : int
        Points of each test environment.
    test_r : sequence of float
        Selection bias of the test environments.
    beta : float
        Weight of the product S_1 S_2 S_3.
    n_s, n_v : int
        Dimensions of S (3 or more) and V; X has n_s + n_v columns.
    scramble : {"fixed", "per_seed"}
        H of scenario 2: one matrix for all seeds (released code) or one for each.

    Returns
    -------
    Dataset
        Training x (B, n_train[0] + n_train[1], n_s + n_v); in every part the environments
        come one after another.

    Raises
    ------
    KerhrmError
        If an argument is out of its range.
    """
    if not seeds:
        raise KerhrmError("seeds is empty", "give one seed or more")
    if not test_r:
        raise KerhrmError("test_r is empty", "give one test environment or more")
    if scenario not in (1, 2):
        raise KerhrmError(f"scenario={scenario} is unknown", "choose 1 or 2")
    if scramble not in ("fixed", "per_seed"):
        raise KerhrmError(f"scramble={scramble!r} is unknown", 'choose "fixed" or "per_seed"')
    for name, bias in (("r", r), ("r_second", r_second), *(("test_r", e) for e in test_r)):
        if not 1 < abs(bias) < math.inf:
            raise KerhrmError(
                f"{name}={bias} is no selection bias", "choose a number beyond 1 in absolute value"
            )
    if constants not in CONSTANTS:
        raise KerhrmError(
            f"constants={constants!r} is unknown", f"choose one of {', '.join(CONSTANTS)}"
        )
    if not math.isfinite(beta):
        raise KerhrmError(f"beta={beta} is not finite", "choose a finite number")
    for name, size, least in (
        *(("n_train", n, 1) for n in n_train),
        ("n_validation", n_validation, 2),
        ("n_test", n_test, 1),
        ("n_s", n_s, 3),
        ("n_v", n_v, 1),
    ):
        if size < least:
            raise KerhrmError(f"{name}={size} is too small", f"choose {least} or more")

    def part(seed: int, name: str, biases: Sequence[float], sizes: Sequence[int]) -> Split:
        h = np.eye(n_s + n_v) if scenario == 1 else mixing_matrix(scramble, n_s + n_v, seed)
        splits = []
        for environment, (bias, n) in enumerate(zip(biases, sizes, strict=True)):
            random = stream(seed, "data", name, str(environment))
            s, v, y = draw(random, n, bias, CONSTANTS[constants], beta, n_s, n_v)
            splits.append(Split(np.hstack([s, v]) @ h.T, y, np.full(n, environment)))
        return pool(splits)

    training = (r, r_second)
    # At least one point of each: a rule may look for the worse of the two.
    second = round(n_validation * n_train[1] / sum(n_train))
    second = min(max(second, 1), n_validation - 1)
    n_each = (n_validation - second, second)
    return Dataset(
        train=stack([part(s, "train", training, n_train) for s in seeds]),
        validation=stack([part(s, "validation", training, n_each) for s in seeds]),
        test=stack([part(s, "test", test_r, [n_test] * len(test_r)) for s in seeds]),
        source="synthetic",
        test_environments=[f"r={e:g}" for e in test_r],
        seeds=seeds,
        task="regression",
    )


def draw(
    random: np.random.Generator,
    n: int,
    r: float,
    constants: Constants,
    beta: float = 5.0,
    n_s: int = 5,
    n_v: int = 5,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, n_s), V (n, n_v) and Y (n,) of one environment, by selection."""
    pieces: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    while sum(len(y) for _, _, y in pieces) < n:
        s, y, _ = draw_unselected(random, POOL, constants, beta, n_s)
        v = constants.tau * random.standard_normal((POOL, n_v))
        kept = random.random(POOL) < selection_probability(y, v[:, -1], r)
        pieces.append((s[kept], v[kept], y[kept]))
    s, v, y = (np.concatenate(arrays)[:n] for arrays in zip(*pieces, strict=True))
    return s, v, y


def draw_unselected(
    random: np.random.Generator, n: int, constants: Constants, beta: float = 5.0, n_s: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw S (n, n_s), Y (n,) and the noise-free f(S) (n,) before any selection."""
    z = random.standard_normal((n, n_s + 1))
    s = 0.8 * z[:, :-1] + 0.2 * z[:, 1:]
    theta = np.resize(constants.theta, n_s) * (-1.0) ** np.arange(n_s)
    f = s @ theta + beta * s[:, 0] * s[:, 1] * s[:, 2]
    return s, f + constants.noise * random.standard_normal(n), f


def selection_probability(y: np.ndarray, v_b: np.ndarray, r: float) -> np.ndarray:
    """Probability |r|^(-5 |y - sign(r) V_b|) that a point is kept; all shapes (n,)."""
    return np.asarray(np.abs(r) ** (-5 * np.abs(y - np.sign(r) * v_b)))
