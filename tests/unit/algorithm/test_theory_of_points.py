"""Equal weights on drawn points, and what the projection leaves.

Points have the features (s, v): ``s`` keeps its link to the label y, ``v`` does not.
What is shown about them is in the section "When equal weights suffice" of
``docs/algorithm.md``; ``test_theory.py`` has what needs second moments alone.
"""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.algorithm.starts import random_starts
from kerhrm.algorithm.variant import orthogonal_update

SEEDS = st.integers(0, 10**6)


class Points(NamedTuple):
    """Points (n, 2), labels (n,), and whether the attribute agrees with them (n,)."""

    x: Tensor
    y: Tensor
    agrees: Tensor


def table1(seed: int, agreements: list[float], n: int) -> Points:
    """Points (n, 2), labels (n,), and whether the attribute agrees with them (n,).

    Of environments whose shares of agreement are given, as those of the paper's first
    experiment.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    share = rng.choice(agreements, n)
    draws = rng.random(n)
    agrees = draws < share
    attribute = np.where(agrees, y, -y)
    noise_of_s = 3.0 * rng.standard_normal(n)
    s = y + noise_of_s
    noise_of_v = 0.3 * rng.standard_normal(n)
    v = attribute + noise_of_v
    x = np.stack([s, v], 1)
    arrays = (x, y, agrees)
    tensors = map(torch.from_numpy, arrays)
    return Points(*tensors)


rates = st.floats(0.6, 0.95)


@given(seed=SEEDS, r1=rates, r2=rates)
def test_sizes_of_a_clean_split_do_not_matter(seed: int, r1: float, r2: float) -> None:
    """In Table 1, split by whether the attribute is the label, to sampling error."""
    x, y, agrees = table1(seed, [r1, r2], n=40_000)
    sides = torch.stack([agrees, ~agrees], 1)
    split = sides.double()
    penalty = GradientVariance()
    equal_weights = environment_risks(x, y, split)
    without_penalty = penalty.minimise(equal_weights, 0.0)
    of_s, of_v = without_penalty.tolist()
    # standard error of the coefficient on v; that on s has a third of it
    sizes = split.sum(0)
    smaller_size = float(sizes.min())
    error = 1 / (2 * smaller_size) ** 0.5
    population_of_s = 1 / (1 + 9)
    assert abs(of_s - population_of_s) < 2 * error
    assert abs(of_v) < 5 * error

    # weighed by size, v counts by the share that agrees
    weights_by_size = environment_risks(x, y, split, by_size=True)
    weighed = penalty.minimise(weights_by_size, 0.0)
    _, of_v_by_size = weighed.tolist()
    share_that_agrees = float(agrees.double().mean())
    link = 2 * share_that_agrees - 1
    assert of_v_by_size > 0.5 * link


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
    draws = rng.random((n, 2))
    agree = draws < 0.85
    scales = (0.3, 1.0)
    normal = rng.standard_normal((n, 2))
    noise = normal * scales
    label = y[:, None]
    attributes = np.where(agree, label, -label)
    x = attributes + noise
    clean = 0
    noisy = 1
    columns = x
    if not first_is_clean:
        clean, noisy = noisy, clean
        columns = x[:, ::-1].copy()
    psi = torch.from_numpy(columns)
    target = torch.from_numpy(y)

    starts = random_starts(0, 5, n, 2)
    fits = fit_mixture(psi, target, starts, ridge=1e-3)
    best = fits.objective.argmin()
    every_fit = fits.responsibilities(psi, target)
    memberships = every_fit[best]
    of_first = memberships[:, 0]
    is_in_first = of_first > 0.5
    in_first_environment = is_in_first.numpy()
    clean_feature_agrees = agree[:, 0]
    is_same = in_first_environment == clean_feature_agrees
    overlap = float(is_same.mean())
    assert max(overlap, 1 - overlap) > 0.97

    learned = environment_risks(psi, target, memberships)
    theta = GradientVariance().minimise(learned, 0)
    of_clean = float(theta[clean])
    of_noisy = float(theta[noisy])
    assert abs(of_clean) < 0.05
    assert of_noisy > 0.3


@given(seed=SEEDS, k=st.integers(2, 8), n=st.integers(1, 30))
def test_a_printed_inverse_exists_for_fewer_rows_than_dimensions_alone(
    seed: int, k: int, n: int
) -> None:
    """Theorem 4.2 inverts Psi_V^T Psi_V (k, k) and Psi_V Psi_V^T (n, n)."""
    rng = np.random.default_rng(seed)
    entries = rng.standard_normal((n, k))
    psi = torch.from_numpy(entries)
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
    scale = rng.uniform(0.3, 3, k)
    psi = rng.standard_normal((30, k)) * scale
    second = psi.T @ psi
    _, eigenvectors = np.linalg.eigh(second)
    eigenvector = eigenvectors[:, 0]
    for theta in (rng.standard_normal(k), eigenvector):
        along = psi @ theta
        variance = along @ along
        features = torch.from_numpy(psi)
        direction = torch.from_numpy(theta)
        updated = orthogonal_update(features, direction)
        psi_v = updated.numpy()
        coefficients, *_ = np.linalg.lstsq(psi_v, along, rcond=1e-10)
        fitted = psi_v @ coefficients
        residual = along - fitted
        unexplained = residual @ residual
        explained = 1 - unexplained / variance

        solved = np.linalg.solve(second, theta)
        inverse_form = theta @ solved
        squared_length = theta @ theta
        formula = 1 - squared_length**2 / (variance * inverse_form)
        assert explained == pytest.approx(formula, abs=1e-8)
    assert explained == pytest.approx(0, abs=1e-8)
