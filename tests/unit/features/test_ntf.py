"""Neural tangent features of MLPs and of any module against a plain autograd loop."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from kerhrm.entries import load_entry
from kerhrm.features import ntf as ntf_module
from kerhrm.features.ntf import PerSampleNTF, extract
from kerhrm.networks.base import Network
from kerhrm.networks.build import (
    MLP,
    build,
    init_mlp,
)
from kerhrm.networks.options import NetworkOptions

N = 9
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
SIZES = {
    "one hidden layer": (3, 8, 1),
    "two hidden layers": (3, 8, 6, 1),
}
ENTRIES = {
    "factories:mlp": 5,
    "factories:Tied": 5,
    "kerhrm.networks.modules:small_cnn": 32,
}
Rows = Callable[[nn.Module, Tensor], Tensor]


class WrittenOut(nn.Module):
    """An MLP with the parameters in the order of Phi's columns."""

    def __init__(self, mlp: MLP) -> None:
        super().__init__()
        copies = [weight.clone() for weight in mlp.weights.values()]
        self.w = nn.ParameterList(copies)

    def forward(self, x: Tensor) -> Tensor:
        *hidden, last_weight, last_bias = self.w
        weights = hidden[::2]
        biases = hidden[1::2]
        for weight, bias in zip(weights, biases, strict=True):
            before = x @ weight.T + bias
            x = before.clamp_min(0)
        return x @ last_weight.T + last_bias


def as_module(network: Network, entry: str) -> nn.Module:
    """A module of the factory, with the network's weights."""
    make = load_entry(entry)
    n_inputs = ENTRIES[entry]
    module: nn.Module = make(n_inputs).double()
    module.load_state_dict(network.weights, strict=False)
    return module


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_factors_give_the_kernel_and_outputs_of_autograd(
    sizes: tuple[int, ...], autograd_rows: Rows
) -> None:
    mlp = init_mlp(0, sizes).to(torch.float64)
    x = torch.randn(N, 3, dtype=torch.float64)
    written = WrittenOut(mlp)
    other = x[:4] - 1
    left, f0 = extract(mlp, x)
    right, _ = extract(mlp, other)
    phi = autograd_rows(written, x)
    phi_other = autograd_rows(written, other)
    assert phi.shape == (N, mlp.n_parameters)
    kernel = left.kernel(left)
    kernel_with_other = left.kernel(right)
    assert_close(kernel, phi @ phi.mT, **CLOSE)
    assert_close(kernel_with_other, phi @ phi_other.mT, **CLOSE)
    expected = written(x).squeeze(-1)
    assert_close(f0, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernel_with_itself_by_blocks(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Symmetric bit for bit, and single precision errs by rounding alone."""
    monkeypatch.setattr(ntf_module, "ROWS", 16)
    mlp = init_mlp(0, (3, 200, 1)).to(dtype)
    x = torch.randn(50, 3, dtype=dtype)
    ntf, _ = extract(mlp, x)
    twin, _ = extract(mlp, x)
    in_double = mlp.to(torch.float64)
    exact, _ = extract(in_double, x.double())
    kappa = ntf.kernel(ntf)
    assert torch.equal(kappa, kappa.mT)
    terms = zip(exact.inputs, exact.deltas, strict=True)  # type: ignore[attr-defined]
    expected = 0.0
    for a, d in terms:
        of_inputs = a @ a.mT + 1
        of_deltas = d @ d.mT
        expected = expected + of_inputs * of_deltas
    scale = expected.diagonal().sqrt()
    rounding = torch.finfo(dtype).eps
    bound = 20 * rounding * torch.outer(scale, scale)
    for found in (kappa, ntf.kernel(twin)):
        error = (found - expected).abs()
        assert (error <= bound).all()


@pytest.fixture(params=ENTRIES)
def network(request: pytest.FixtureRequest) -> Network:
    entry = request.param
    options = NetworkOptions(module=entry)
    network = build(options, 0, ENTRIES[entry])
    return network.to(torch.float64)


@pytest.fixture
def entry(request: pytest.FixtureRequest) -> str:
    """Name of the factory of ``network``."""
    return request.node.callspec.params["network"]


@pytest.fixture
def x(entry: str) -> Tensor:
    n_inputs = ENTRIES[entry]
    return torch.randn(N, n_inputs, dtype=torch.float64)


@pytest.fixture
def phi(entry: str, network: Network, x: Tensor, autograd_rows: Rows) -> Tensor:
    module = as_module(network, entry)
    return autograd_rows(module, x)


def test_modules_have_the_kernel_and_outputs_of_autograd(
    network: Network, x: Tensor, phi: Tensor
) -> None:
    before = {}
    for name, weight in network.weights.items():
        before[name] = weight.clone()
    ntf, f0 = extract(network, x)
    assert_close(f0, network(x))
    kernel = ntf.kernel(ntf)
    assert_close(kernel, phi @ phi.mT, **CLOSE)
    few, _ = extract(network, x[:3])
    first_rows = phi[:3]
    kernel_of_few = few.kernel(ntf)
    assert_close(kernel_of_few, first_rows @ phi.mT, **CLOSE)
    for name, w in network.weights.items():
        assert torch.equal(w, before[name])


def test_blocks_and_chunks_change_nothing(
    network: Network, x: Tensor, phi: Tensor
) -> None:
    p = phi.shape[-1]
    for block, chunk in [
        (p // 3, 100),
        (p // 4 + 1, 1),
        (p - 1, 2),
        (p, 100),
        (p + 1, 4),
    ]:
        ntf = PerSampleNTF(network, x, block, chunk)
        other = replace(ntf, x=x[1:])
        kernel_of_rows = ntf.kernel(other)
        expected = phi @ phi[1:].mT
        assert_close(kernel_of_rows, expected, **CLOSE)


def test_it_works_where_gradients_are_switched_off(network: Network, x: Tensor) -> None:
    ntf, _ = extract(network, x)
    expected = ntf.kernel(ntf)
    with torch.inference_mode():
        clone = network.each(Tensor.clone)
        inside, _ = extract(clone, x.clone())
        assert torch.equal(inside.kernel(inside), expected)


def test_single_precision_is_summed_in_double(autograd_rows: Rows) -> None:
    options = NetworkOptions(module="factories:mlp")
    network = build(options, 0, 5)
    x = torch.randn(N, 5)
    ntf, f0 = extract(network, x)
    kernel = ntf.kernel(ntf)
    assert kernel.dtype == torch.float64
    assert f0.dtype == torch.float32
    module = as_module(network, "factories:mlp").float()
    rows = autograd_rows(module, x).double()
    # single precision where rows are made: their sums have its error once, not p times
    expected = rows @ rows.mT
    assert_close(kernel, expected, rtol=1e-6, atol=1e-6)


def test_no_tensor_outgrows_a_block() -> None:
    class LargestTensor(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            by_name = kwargs or {}
            result = func(*args, **by_name)
            if isinstance(result, Tensor):
                size = result.numel()
                self.numel = max(self.numel, size)
            return result

    options = NetworkOptions(module="factories:wide")
    network = build(options, 0, 32)
    points = torch.randn(24, 32)
    ntf = PerSampleNTF(network, points, block_size=128)
    with LargestTensor() as seen:
        ntf.kernel(ntf)
    of_a_block = 24 * 128
    of_all_rows = 24 * 32 * 64
    assert 24 * 64 <= seen.numel <= of_a_block
    assert of_a_block < of_all_rows


def test_differences_of_accumulating_gradients_differ_by_rounding_alone() -> None:
    """As the authors' scripts take them, in float32: gradients are never set to 0."""
    generator = torch.Generator().manual_seed(0)
    network = init_mlp(0, (10, 1024, 1))
    x = torch.randn(300, 10, generator=generator)
    written = WrittenOut(network)
    rows = []
    before = torch.zeros(())
    for point in x:
        output = written(point[None]).sum()
        output.backward()
        gradients = []
        for weight in written.parameters():
            gradients.append(weight.grad.flatten())
        after = torch.cat(gradients)
        rows.append((after - before).double())
        before = after
    phi = torch.stack(rows)
    features, _ = extract(network, x)
    kernel = features.kernel(features).double()
    eigenvalues = torch.linalg.eigvalsh(phi @ phi.mT)
    expected_eigenvalues = torch.linalg.eigvalsh(kernel)
    accumulated = eigenvalues[-15:].sqrt()
    exact = expected_eigenvalues[-15:].sqrt()
    assert_close(accumulated, exact, rtol=1e-6, atol=0.0)
