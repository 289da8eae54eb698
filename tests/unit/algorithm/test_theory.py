"""When equal weights of two environments leave the invariant features alone.

Features are (s, v): ``s`` keeps its link to the label y, ``v`` does not.  What is shown
about them is in the section "When equal weights suffice" of ``docs/algorithm.md``.
"""

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.algorithm.problem import Risks

SEEDS = st.integers(0, 10**6)
SIZES = st.integers(1, 4)
STRENGTHS = st.floats(0.1, 3.0)


def positive(rng: np.random.Generator, size: int) -> np.ndarray:
    """Second moments (size, size) of some random variables."""
    factor = rng.standard_normal((size, 2 * size))
    return factor @ factor.T / size


def assert_close(got: np.ndarray, expected: np.ndarray | float) -> None:
    """Equal to what double precision leaves of a linear system."""
    assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


@dataclass(frozen=True)
class Link:
    """Second moments of s (a,), v (b,) and y that two environments share.

    Attributes
    ----------
    of_s : ndarray, (a + 1, a + 1)
        E[(s, y) (s, y)^T].
    of_v : ndarray, (b, a + 1)
        E[v (s, y)^T], where the link has strength one.
    rng : Generator
        Of what the environments do not share: E[v v^T].
    """

    of_s: np.ndarray
    of_v: np.ndarray
    rng: np.random.Generator

    @classmethod
    def drawn(cls, seed: int, a: int, b: int) -> "Link":
        rng = np.random.default_rng(seed)
        of_s = positive(rng, a + 1)
        of_v = rng.standard_normal((b, a + 1))
        return cls(of_s, of_v, rng)

    @property
    def a(self) -> int:
        return len(self.of_s) - 1

    def of_s_alone(self) -> np.ndarray:
        """Coefficients (a,) of the regression of y on s."""
        s_and_s = self.of_s[:-1, :-1]
        s_and_y = self.of_s[:-1, -1]
        solution: np.ndarray = np.linalg.solve(s_and_s, s_and_y)
        return solution

    def moments(self, strength: float) -> np.ndarray:
        """E[(s, v, y) (s, v, y)^T] of one environment, whatever E[v v^T] is there."""
        cross = strength * self.of_v
        explained = np.linalg.solve(self.of_s, cross.T)
        given_s = cross @ explained
        unexplained = positive(self.rng, len(cross))
        of_v = given_s + unexplained
        a = self.a
        v_and_s = cross[:, :a]
        v_and_y = cross[:, a:]
        s_and_s = self.of_s[:a, :a]
        s_and_y = self.of_s[:a, a:]
        y_and_y = self.of_s[a:, a:]
        rows = [
            [s_and_s, v_and_s.T, s_and_y],
            [v_and_s, of_v, v_and_y],
            [s_and_y.T, v_and_y.T, y_and_y],
        ]
        return np.block(rows)

    def opposed(self, first: float, second: float) -> list[np.ndarray]:
        """Moments of two environments with links of strengths first and -second."""
        return [self.moments(first), self.moments(-second)]


def risks(moments: list[np.ndarray], weights: list[float]) -> Risks:
    """Of environments whose E[(s, v, y) (s, v, y)^T] are known."""
    stacked_moments = np.stack(moments)
    stacked = torch.from_numpy(stacked_moments)
    shares = torch.tensor(weights, dtype=torch.float64)
    return Risks(
        second=stacked[:, :-1, :-1],
        cross=stacked[:, :-1, -1],
        constant=stacked[:, -1, -1],
        weights=shares / shares.sum(),
        rho=torch.zeros((), dtype=torch.float64),
    )


def solution(
    moments: list[np.ndarray], weights: list[float], alpha: float = 0.0
) -> np.ndarray:
    """M_p; least squares without a penalty."""
    pooled = risks(moments, weights)
    minimum = GradientVariance().minimise(pooled, alpha)
    return minimum.numpy()


@given(seed=SEEDS, a=SIZES, b=SIZES)
def test_equal_weights_suffice_where_the_link_reverses(
    seed: int, a: int, b: int
) -> None:
    link = Link.drawn(seed, a, b)
    moments = link.opposed(1.0, 1.0)
    theta = solution(moments, weights=[1, 1])
    of_s = link.of_s_alone()
    assert_close(theta[:a], of_s)
    assert_close(theta[a:], 0)


@given(seed=SEEDS, a=SIZES, b=SIZES, first=STRENGTHS, second=STRENGTHS)
def test_weights_make_up_for_unequal_strengths(
    seed: int, a: int, b: int, first: float, second: float
) -> None:
    """c_2 : c_1 for links of strengths c_1 and -c_2."""
    link = Link.drawn(seed, a, b)
    moments = link.opposed(first, second)
    theta = solution(moments, weights=[second, first])
    of_s = link.of_s_alone()
    assert_close(theta[:a], of_s)
    assert_close(theta[a:], 0)


@given(seed=SEEDS, a=SIZES, b=SIZES, first=STRENGTHS, second=STRENGTHS)
def test_equal_weights_leave_what_the_strengths_differ_by(
    seed: int, a: int, b: int, first: float, second: float
) -> None:
    """The coefficient on v is (c_1 - c_2) / 2 times that of the written-out system."""
    link = Link.drawn(seed, a, b)
    moments = link.opposed(first, second)
    theta = solution(moments, weights=[1, 1])

    half = (first - second) / 2
    first_moments, second_moments = moments
    mean_moments = (first_moments + second_moments) / 2
    of_v = mean_moments[a:-1, a:-1]
    s_and_s = link.of_s[:a, :a]
    v_and_s = link.of_v[:, :a]
    v_and_y = link.of_v[:, a]
    coefficients = np.linalg.solve(s_and_s, v_and_s.T)
    explained = v_and_s @ coefficients
    explained_by_s = v_and_s @ link.of_s_alone()
    unexplained = v_and_y - explained_by_s
    left_of_v = of_v - half**2 * explained
    slope = np.linalg.solve(left_of_v, unexplained)
    assert_close(theta[a:], half * slope)


@given(seed=SEEDS, a=SIZES, b=SIZES, first=STRENGTHS, second=STRENGTHS)
def test_a_large_penalty_makes_up_for_unequal_strengths(
    seed: int, a: int, b: int, first: float, second: float
) -> None:
    """Where v has no more dimensions than s: equal gradients need no v there."""
    b = min(a, b)
    link = Link.drawn(seed, a, b)
    cross = link.of_v[:, :a]
    orthonormal, _ = np.linalg.qr(cross.T)
    link.of_v[:, :a] = orthonormal.T  # of full rank
    moments = link.opposed(first, second)
    without_penalty = solution(moments, weights=[1, 1])
    theta = solution(moments, weights=[1, 1], alpha=1e7)

    left_on_v = np.linalg.norm(theta[a:])
    size_before = np.linalg.norm(without_penalty)
    assert left_on_v <= 1e-2 * size_before + 1e-6


@given(seed=SEEDS, a=SIZES, b=SIZES, wrong=st.floats(0.05, 0.45))
def test_wrong_labels_leave_nothing(seed: int, a: int, b: int, wrong: float) -> None:
    """Labels wrong at random, split by right and wrong: s reverses as v does."""
    link = Link.drawn(seed, a, b)
    right = link.moments(1.0)
    sign = np.ones(len(right))
    sign[-1] = -1
    signs = np.outer(sign, sign)
    reversed_label = right * signs
    moments = [right, reversed_label]
    of_equal_weights = solution(moments, weights=[1, 1])
    assert_allclose(of_equal_weights, 0, atol=1e-8)

    # weighed by size, wrong labels shrink every coefficient alike
    theta = solution(moments, weights=[1 - wrong, wrong])
    clean = solution([right], weights=[1])
    shrinkage = 1 - 2 * wrong
    shrunk = shrinkage * clean
    assert_close(theta, shrunk)


@given(
    seed=SEEDS,
    a=SIZES,
    b=SIZES,
    n_environments=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 1.0, 100.0]),
)
def test_noise_independent_of_x_leaves_nothing_to_do(
    seed: int, a: int, b: int, n_environments: int, alpha: float
) -> None:
    """Assumption 2.1(b) as written: y = s^T beta + noise that is independent of x.

    Then any environments with any weights have the same solution, and one is enough.
    """
    rng = np.random.default_rng(seed)
    on_s = rng.standard_normal(a)
    on_v = np.zeros(b)
    beta = np.append(on_s, on_v)
    moments = []
    for _ in range(n_environments):
        x_and_x = positive(rng, a + b)
        x_and_y = x_and_x @ beta
        y_and_y = beta @ x_and_y + 1.0
        rows = [
            [x_and_x, x_and_y[:, None]],
            [x_and_y, np.array([y_and_y])],
        ]
        moments.append(np.block(rows))
    concentration = np.ones(n_environments)
    weights = rng.dirichlet(concentration).tolist()
    theta = solution(moments, weights, alpha)
    assert_allclose(theta, beta, rtol=1e-5, atol=1e-6)
