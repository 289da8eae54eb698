"""Solutions and warnings of linear systems, against systems of known condition."""

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.algorithm.conditioning import solve


def system(condition: float, k: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """A of that condition number (2-norm), b and the solution."""
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.standard_normal((k, k)))[0]
    matrix = q * np.geomspace(1, 1 / condition, k) @ q.T
    x = rng.standard_normal(k)
    right = (matrix.astype(np.longdouble) @ x).astype(float)
    return torch.from_numpy(matrix), torch.from_numpy(right), torch.from_numpy(x)


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
def test_the_error_is_the_condition_times_rounding(
    condition: float, caplog: pytest.LogCaptureFixture
) -> None:
    matrix, right, x = system(condition)
    error = (solve(matrix, right, "test") - x).norm() / x.norm()
    assert float(error) <= 20 * condition * torch.finfo(torch.float64).eps
    assert not caplog.records


def test_bad_systems_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    good, right, x = system(1e3)
    bad, other, _ = system(1e14)
    found = solve(torch.stack([good, bad, bad]), torch.stack([right, other, other]), "M_p")
    torch.testing.assert_close(found[0], x, rtol=1e-9, atol=1e-9)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "M_p: 2 of 3 systems are ill-conditioned" in record.getMessage()
