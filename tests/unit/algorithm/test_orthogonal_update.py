"""What a direction takes out of the features: Theorem 4.2."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.starts import random_starts
from kerhrm.algorithm.variant import orthogonal_update


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 8),
    n_clusters=st.integers(1, 3),
    length=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_theorem_4_2(seed: int, k: int, n_clusters: int, length: float) -> None:
    """Span(Psi_V) and Span(Theta) lie in Ker(theta_inv)."""
    rng = np.random.default_rng(seed)
    scales = rng.standard_normal((30, k))
    features = scales * rng.uniform(0.1, 10, k)
    psi = torch.from_numpy(features)
    coefficients = rng.standard_normal(k) * length
    theta = torch.from_numpy(coefficients)
    unit = theta / theta.norm()
    before = psi.clone()
    psi_v = orthogonal_update(psi, theta)
    size = float(psi.norm())

    left_along_theta = psi_v @ unit
    assert left_along_theta.abs().max() < 1e-13 * size
    # and nothing else is taken away
    taken_away = torch.outer(psi @ unit, unit)
    tolerance_of_psi = 1e-13 * size
    assert_close(psi_v + taken_away, psi, rtol=0, atol=tolerance_of_psi)

    y = torch.from_numpy(rng.standard_normal(30))
    starts = random_starts(0, 2, 30, n_clusters)
    em = EM(max_iter=10)
    fit = fit_mixture(psi_v, y, starts, ridge=1e-3, em=em)
    centres = fit.theta
    length_of_centres = centres.norm()
    along_theta = centres @ unit
    assert length_of_centres > 0
    assert along_theta.abs().max() < 1e-9 * length_of_centres
    # the regressions as the paper prints them: least squares, of least norm
    rows = psi_v.numpy()
    labels = y.numpy()
    printed, *_ = np.linalg.lstsq(rows, labels, rcond=1e-10)
    printed_along_theta = printed @ unit.numpy()
    length_of_printed = np.linalg.norm(printed)
    assert abs(printed_along_theta) < 1e-9 * length_of_printed

    tolerance = 1e-12 * size
    again = orthogonal_update(psi_v, theta)
    opposite = orthogonal_update(psi, -3 * theta)
    assert_close(again, psi_v, rtol=0.0, atol=tolerance)
    assert_close(opposite, psi_v, rtol=0.0, atol=tolerance)
    assert torch.equal(psi, before)  # the next iteration starts from Psi again


def test_a_zero_direction_takes_nothing_away() -> None:
    rng = np.random.default_rng(0)
    entries = rng.standard_normal((5, 3))
    psi = torch.from_numpy(entries)
    zero = torch.zeros(3).double()
    assert torch.equal(orthogonal_update(psi, zero), psi)
