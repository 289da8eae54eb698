"""What a direction takes out of the features: Theorem 4.2."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 8),
    n_clusters=st.integers(1, 3),
    length=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_theorem_4_2(seed: int, k: int, n_clusters: int, length: float) -> None:
    """Span(Psi_V) and Span(Theta) lie in Ker(theta_inv)."""
    rng = np.random.default_rng(seed)
    psi = torch.from_numpy(rng.standard_normal((30, k)) * rng.uniform(0.1, 10, k))
    theta = torch.from_numpy(rng.standard_normal(k) * length)
    unit = theta / theta.norm()
    before = psi.clone()
    psi_v = orthogonal_update(psi, theta)
    size = float(psi.norm())

    assert float((psi_v @ unit).abs().max()) < 1e-13 * size
    # and nothing else is taken away
    torch.testing.assert_close(
        psi_v + torch.outer(psi @ unit, unit), psi, rtol=0, atol=1e-13 * size
    )

    y = torch.from_numpy(rng.standard_normal(30))
    starts = random_starts(0, 2, 30, n_clusters)
    centres = fit_mixture(psi_v, y, starts, ridge=1e-3, em=EM(max_iter=10)).theta
    assert float(centres.norm()) > 0
    assert float((centres @ unit).abs().max()) < 1e-9 * float(centres.norm())
    # the regressions as the paper prints them: least squares, of least norm
    printed = np.linalg.lstsq(psi_v.numpy(), y.numpy(), rcond=1e-10)[0]
    assert abs(printed @ unit.numpy()) < 1e-9 * np.linalg.norm(printed)

    close = {"rtol": 0.0, "atol": 1e-12 * size}
    torch.testing.assert_close(orthogonal_update(psi_v, theta), psi_v, **close)
    torch.testing.assert_close(orthogonal_update(psi, -3 * theta), psi_v, **close)
    assert torch.equal(psi, before)  # the next iteration starts from Psi again


def test_a_zero_direction_takes_nothing_away() -> None:
    psi = torch.from_numpy(np.random.default_rng(0).standard_normal((5, 3)))
    assert torch.equal(orthogonal_update(psi, torch.zeros(3).double()), psi)
