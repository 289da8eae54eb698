"""Factored neural tangent features against a plain autograd loop."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kerhrm.features import ntf as ntf_module
from kerhrm.features.extract import extract, load_ntf
from kerhrm.networks.mlp import MLP, init_mlp

B, N, D = 2, 9, 3


@pytest.fixture(params=[(D, 8, 1), (D, 8, 6, 1)], ids=["one hidden layer", "two hidden layers"])
def mlp(request: pytest.FixtureRequest) -> MLP:
    return init_mlp(range(B), request.param).to(torch.float64)


@pytest.fixture
def x() -> Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal((B, N, D)))


class Network(nn.Module):
    """Network b of a batch, written out, with the parameters in the order of Phi's columns."""

    def __init__(self, mlp: MLP, b: int) -> None:
        super().__init__()
        pairs = zip(mlp.weights, mlp.biases, strict=True)
        self.w = nn.ParameterList(t[b].clone() for pair in pairs for t in pair)

    def forward(self, x: Tensor) -> Tensor:
        for weight, bias in zip(self.w[:-2:2], self.w[1:-2:2], strict=True):
            x = (x @ weight.T + bias).clamp_min(0)
        return x @ self.w[-2].T + self.w[-1]


def test_kernel_and_outputs_are_those_of_autograd(
    mlp: MLP, x: Tensor, autograd_rows: Callable[[nn.Module, Tensor], Tensor]
) -> None:
    networks, other = [Network(mlp, b) for b in range(B)], x[:, :4] - 1
    (left, f0), (right, _) = extract(mlp, x), extract(mlp, other)
    phi, phi_other = (
        torch.stack([autograd_rows(f, points[b]) for b, f in enumerate(networks)])
        for points in (x, other)
    )
    assert phi.shape == (B, N, mlp.n_parameters)
    torch.testing.assert_close(left.kernel(left), phi @ phi.mT, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(left.kernel(right), phi @ phi_other.mT, rtol=1e-12, atol=1e-12)
    outputs = torch.stack([f(x[b]).squeeze(-1) for b, f in enumerate(networks)])
    torch.testing.assert_close(f0, outputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernel_with_itself_by_blocks(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Symmetric bit for bit, and single precision errs by rounding alone."""
    monkeypatch.setattr(ntf_module, "BLOCK", 16)
    mlp = init_mlp(range(B), (D, 200, 1)).to(dtype)
    x = torch.from_numpy(np.random.default_rng(2).standard_normal((B, 50, D))).to(dtype)
    (ntf, _), (twin, _) = extract(mlp, x), extract(mlp, x)
    (exact, _) = extract(mlp.to(torch.float64), x.double())
    kappa = ntf.kernel(ntf)
    assert torch.equal(kappa, kappa.mT)
    eps = torch.finfo(dtype).eps
    terms = zip(exact.activations, exact.deltas, strict=True)
    expected = sum((a @ a.mT + 1) * (d @ d.mT) for a, d in terms)
    scale = expected.diagonal(dim1=-2, dim2=-1).sqrt()
    bound = 20 * eps * scale.unsqueeze(-1) * scale.unsqueeze(-2)
    for found in (kappa, ntf.kernel(twin)):
        assert bool(((found - expected).abs() <= bound).all())


def test_round_trip_through_a_file(mlp: MLP, x: Tensor, tmp_path: Path) -> None:
    ntf, f0 = extract(mlp, x)
    ntf.save(tmp_path / "ntf.npz", f0)
    again, f0_again = load_ntf(tmp_path / "ntf.npz")
    assert torch.equal(f0_again, f0)
    assert torch.equal(again.kernel(ntf), ntf.kernel(ntf))
