"""Products by convolution against products in double precision."""

import pytest
import torch

from kerhrm.networks import products
from kerhrm.networks.products import affine, cross

EPS = torch.finfo(torch.float32).eps


@pytest.fixture(autouse=True, params=[True, False], ids=["convolutions", "plain products"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "convolutions_pay", lambda: request.param)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 250])
@pytest.mark.parametrize(("k", "m"), [(1, 1), (3, 7), (40, 70)])
def test_they_are_the_products_up_to_rounding(n: int, k: int, m: int) -> None:
    """Each entry's error is at most as many rounding errors as it has terms (Higham 2002, 3.5)."""
    x, g = torch.randn(n, k), torch.randn(n, m)
    weight, bias = torch.randn(m, k), torch.randn(m)
    exact = x.double() @ weight.double().T
    bound = (k + 1) * EPS * (x.abs() @ weight.abs().T + bias.abs()) + 1e-30
    for found, expected in ((affine(x, weight), exact), (affine(x, weight, bias), exact + bias)):
        assert found.shape == (n, m)
        assert bool(((found - expected).abs() <= bound).all())
    error = (cross(g, x) - g.double().T @ x.double()).abs()
    assert error.shape == (m, k)
    assert bool((error <= (n + 1) * EPS * (g.abs().T @ x.abs())).all())


def test_double_precision_stays_double() -> None:
    x, weight = torch.randn(20, 5, dtype=torch.float64), torch.randn(4, 5, dtype=torch.float64)
    torch.testing.assert_close(affine(x, weight), x @ weight.T, rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(cross(x, x), x.T @ x, rtol=1e-14, atol=1e-14)


def test_rows_that_do_not_lie_side_by_side() -> None:
    x, weight = torch.randn(6, 40).T, torch.randn(8, 12)[:, ::2]
    torch.testing.assert_close(affine(x, weight), x @ weight.T)
    torch.testing.assert_close(cross(x, x[:, :3]), x.T @ x[:, :3])
