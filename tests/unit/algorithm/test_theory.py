"""When equal weights of two environments leave the invariant features alone.

Features are (s, v): ``s`` keeps its link to the label y, ``v`` does not.  What is shown
about them is in the section "When equal weights suffice" of ``docs/algorithm.md``.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.algorithm.problem import Risks

SEEDS = st.integers(0, 10**6)
SIZES = st.integers(1, 4)
STRENGTHS = st.floats(0.1, 3.0)


def positive(rng: np.random.Generator, size: int) -> np.ndarray:
    """Second moments (size, size) of some random variables."""
    factor = rng.standard_normal((size, 2 * size))
    return factor @ factor.T / size


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
        return cls(positive(rng, a + 1), rng.standard_normal((b, a + 1)), rng)

    @property
    def a(self) -> int:
        return len(self.of_s) - 1

    def of_s_alone(self) -> np.ndarray:
        """Coefficients (a,) of the regression of y on s."""
        solution: np.ndarray = np.linalg.solve(self.of_s[:-1, :-1], self.of_s[:-1, -1])
        return solution

    def moments(self, strength: float) -> np.ndarray:
        """E[(s, v, y) (s, v, y)^T] of one environment, whatever E[v v^T] is there."""
        cross = strength * self.of_v
        given_s = cross @ np.linalg.solve(self.of_s, cross.T)
        of_v = given_s + positive(self.rng, len(cross))
        a = self.a
        rows = [
            [self.of_s[:a, :a], cross[:, :a].T, self.of_s[:a, a:]],
            [cross[:, :a], of_v, cross[:, a:]],
            [self.of_s[a:, :a], cross[:, a:].T, self.of_s[a:, a:]],
        ]
        return np.block(rows)


def risks(moments: list[np.ndarray], weights: list[float]) -> Risks:
    """Of environments whose E[(s, v, y) (s, v, y)^T] are known."""
    stacked = torch.from_numpy(np.stack(moments))
    shares = torch.tensor(weights, dtype=torch.float64)
    return Risks(
        second=stacked[:, :-1, :-1],
        cross=stacked[:, :-1, -1],
        constant=stacked[:, -1, -1],
        weights=shares / shares.sum(),
        rho=torch.zeros((), dtype=torch.float64),
    )


def least_squares(moments: list[np.ndarray], weights: list[float]) -> np.ndarray:
    """M_p without a penalty."""
    return GradientVariance().minimise(risks(moments, weights), 0.0).numpy()


@given(seed=SEEDS, a=SIZES, b=SIZES)
def test_equal_weights_suffice_where_the_link_reverses(
    seed: int, a: int, b: int
) -> None:
    link = Link.drawn(seed, a, b)
    theta = least_squares([link.moments(1.0), link.moments(-1.0)], [1, 1])
    np.testing.assert_allclose(theta[:a], link.of_s_alone(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(theta[a:], 0, atol=1e-8)


@given(seed=SEEDS, a=SIZES, b=SIZES, first=STRENGTHS, second=STRENGTHS)
def test_weights_make_up_for_unequal_strengths(
    seed: int, a: int, b: int, first: float, second: float
) -> None:
    """c_2 : c_1 for links of strengths c_1 and -c_2."""
    link = Link.drawn(seed, a, b)
    moments = [link.moments(first), link.moments(-second)]
    theta = least_squares(moments, [second, first])
    np.testing.assert_allclose(theta[:a], link.of_s_alone(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(theta[a:], 0, atol=1e-8)


@given(seed=SEEDS, a=SIZES, b=SIZES, first=STRENGTHS, second=STRENGTHS)
def test_equal_weights_leave_what_the_strengths_differ_by(
    seed: int, a: int, b: int, first: float, second: float
) -> None:
    """The coefficient on v is (c_1 - c_2) / 2 times that of the written-out system."""
    link = Link.drawn(seed, a, b)
    moments = [link.moments(first), link.moments(-second)]
    theta = least_squares(moments, [1, 1])
    half = (first - second) / 2
    of_v = (moments[0] + moments[1])[a:-1, a:-1] / 2
    v_and_s, v_and_y = link.of_v[:, :a], link.of_v[:, a]
    explained = v_and_s @ np.linalg.solve(link.of_s[:a, :a], v_and_s.T)
    unexplained = v_and_y - v_and_s @ link.of_s_alone()
    slope = np.linalg.solve(of_v - half**2 * explained, unexplained)
    np.testing.assert_allclose(theta[a:], half * slope, rtol=1e-6, atol=1e-8)


@given(seed=SEEDS, a=SIZES, b=SIZES, first=STRENGTHS, second=STRENGTHS)
def test_a_large_penalty_makes_up_for_unequal_strengths(
    seed: int, a: int, b: int, first: float, second: float
) -> None:
    """Where v has no more dimensions than s: equal gradients need no v there."""
    b = min(a, b)
    link = Link.drawn(seed, a, b)
    link.of_v[:, :a] = np.linalg.qr(link.of_v[:, :a].T)[0].T  # of full rank
    moments = [link.moments(first), link.moments(-second)]
    before = GradientVariance().minimise(risks(moments, [1, 1]), 0.0).numpy()
    theta = GradientVariance().minimise(risks(moments, [1, 1]), 1e7).numpy()
    left = np.linalg.norm(theta[a:])
    assert left <= 1e-2 * np.linalg.norm(before) + 1e-6


def table1(seed: int, agreements: list[float], n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points (n, 2), labels (n,), and whether the attribute agrees with them (n,).

    Of environments whose shares of agreement are given, as those of the paper's first
    experiment.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    share = rng.choice(agreements, n)
    agrees = rng.random(n) < share
    attribute = np.where(agrees, y, -y)
    s = y + 3.0 * rng.standard_normal(n)
    v = attribute + 0.3 * rng.standard_normal(n)
    points = np.stack([s, v], 1)
    return torch.from_numpy(points), torch.from_numpy(y), torch.from_numpy(agrees)


@given(seed=SEEDS, r1=st.floats(0.6, 0.95), r2=st.floats(0.6, 0.95))
def test_sizes_of_a_clean_split_do_not_matter(seed: int, r1: float, r2: float) -> None:
    """In Table 1, split by whether the attribute is the label, to sampling error."""
    x, y, agrees = table1(seed, [r1, r2], n=40_000)
    split = torch.stack([agrees, ~agrees], 1).double()
    penalty = GradientVariance()
    of_s, of_v = penalty.minimise(environment_risks(x, y, split), 0.0).tolist()
    # standard error of the coefficient on v; that on s has a third of it
    error = 1 / (2 * float(split.sum(0).min())) ** 0.5
    assert abs(of_s - 1 / (1 + 9)) < 2 * error
    assert abs(of_v) < 5 * error
    # weighed by size, v counts by the share that agrees
    by_size = penalty.minimise(environment_risks(x, y, split, by_size=True), 0.0)
    link = 2 * float(agrees.double().mean()) - 1
    assert float(by_size[1]) > 0.5 * link


@given(seed=SEEDS, a=SIZES, b=SIZES, wrong=st.floats(0.05, 0.45))
def test_wrong_labels_leave_nothing(seed: int, a: int, b: int, wrong: float) -> None:
    """Labels wrong at random, split by right and wrong: s reverses as v does."""
    right = Link.drawn(seed, a, b).moments(1.0)
    sign = np.ones(len(right))
    sign[-1] = -1
    moments = [right, right * np.outer(sign, sign)]
    np.testing.assert_allclose(least_squares(moments, [1, 1]), 0, atol=1e-8)
    # weighed by size, wrong labels shrink every coefficient alike
    theta = least_squares(moments, [1 - wrong, wrong])
    clean = least_squares([right], [1])
    np.testing.assert_allclose(theta, (1 - 2 * wrong) * clean, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("first_is_clean", [False, True])
def test_the_feature_with_less_noise_is_removed(first_is_clean: bool) -> None:
    """Roles swapped: two features agree with the label as often as each other.

    Which of them varies between environments changes nothing in the pooled rows, so
    what M_c and M_p do is the same.  They split by the feature with less noise and
    remove it.
    """
    rng = np.random.default_rng(0)
    n = 4000
    y = rng.choice([-1.0, 1.0], n)
    agree = rng.random((n, 2)) < 0.85
    noise = rng.standard_normal((n, 2)) * (0.3, 1.0)
    x = np.where(agree, y[:, None], -y[:, None]) + noise
    clean, noisy = (0, 1) if first_is_clean else (1, 0)
    psi = torch.from_numpy(x if first_is_clean else x[:, ::-1].copy())
    target = torch.from_numpy(y)

    fits = fit_mixture(psi, target, random_starts(0, 5, n, 2), ridge=1e-3)
    best = fits.objective.argmin()
    memberships = fits.responsibilities(psi, target)[best]
    first = (memberships[:, 0] > 0.5).numpy()
    same = float((first == agree[:, 0]).mean())
    assert max(same, 1 - same) > 0.97

    theta = GradientVariance().minimise(environment_risks(psi, target, memberships), 0)
    assert abs(float(theta[clean])) < 0.05
    assert float(theta[noisy]) > 0.3


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
    beta = np.append(rng.standard_normal(a), np.zeros(b))
    moments = []
    for _ in range(n_environments):
        of_x = positive(rng, a + b)
        and_y = of_x @ beta
        of_y = beta @ and_y + 1.0
        moments.append(np.block([[of_x, and_y[:, None]], [and_y, np.array([of_y])]]))
    weights = rng.dirichlet(np.ones(n_environments)).tolist()
    theta = GradientVariance().minimise(risks(moments, weights), alpha)
    np.testing.assert_allclose(theta, beta, rtol=1e-5, atol=1e-6)


@given(seed=SEEDS, k=st.integers(2, 8), n=st.integers(1, 30))
def test_a_printed_inverse_exists_for_fewer_rows_than_dimensions_alone(
    seed: int, k: int, n: int
) -> None:
    """Theorem 4.2 inverts Psi_V^T Psi_V (k, k) and Psi_V Psi_V^T (n, n)."""
    rng = np.random.default_rng(seed)
    psi = torch.from_numpy(rng.standard_normal((n, k)))
    theta = torch.from_numpy(rng.standard_normal(k))
    psi_v = orthogonal_update(psi, theta).numpy()
    rank = np.linalg.matrix_rank(psi_v, tol=1e-9)
    assert rank == min(n, k - 1)
    assert rank < k
    assert (rank == n) == (n < k)


@given(seed=SEEDS, k=st.integers(2, 8))
def test_what_psi_v_still_explains_of_the_direction(seed: int, k: int) -> None:
    """1 - |theta|^4 / ((theta^T C theta) (theta^T C^-1 theta)), C = Psi^T Psi.

    So nothing is left of an eigenvector of C, and of no other direction.
    """
    rng = np.random.default_rng(seed)
    psi = rng.standard_normal((30, k)) * rng.uniform(0.3, 3, k)
    second = psi.T @ psi
    eigenvector = np.linalg.eigh(second)[1][:, 0]
    for theta in (rng.standard_normal(k), eigenvector):
        psi_v = orthogonal_update(torch.from_numpy(psi), torch.from_numpy(theta))
        along = psi @ theta
        coefficients = np.linalg.lstsq(psi_v.numpy(), along, rcond=1e-10)[0]
        left = along - psi_v.numpy() @ coefficients
        explained = 1 - (left @ left) / (along @ along)
        product = (along @ along) * (theta @ np.linalg.solve(second, theta))
        formula = 1 - (theta @ theta) ** 2 / product
        assert explained == pytest.approx(formula, abs=1e-8)
    assert explained == pytest.approx(0, abs=1e-8)
