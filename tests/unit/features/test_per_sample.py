"""Per-sample gradients of general networks against a plain autograd loop."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from kerhrm.entries import load
from kerhrm.features.extract import extract, load_ntf
from kerhrm.features.per_sample import PerSampleNTF
from kerhrm.networks.build import build
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.modules import Modules
from kerhrm.networks.options import NetworkOptions

B, N = 2, 7
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
ENTRIES = {"factories:mlp": 5, "factories:Tied": 5, "kerhrm.networks.examples:small_cnn": 32}


def modules(entry: str, dtype: torch.dtype = torch.float64) -> Modules:
    network = build(NetworkOptions(module=entry), range(B), ENTRIES[entry]).to(dtype)
    assert isinstance(network, Modules)
    return network


@pytest.fixture(params=ENTRIES)
def network(request: pytest.FixtureRequest) -> Modules:
    return modules(request.param)


@pytest.fixture
def x(network: Modules) -> Tensor:
    return torch.randn(B, N, network.n_inputs, dtype=torch.float64)


@pytest.fixture
def phi(
    network: Modules, x: Tensor, autograd_rows: Callable[[nn.Module, Tensor], Tensor]
) -> Tensor:
    """Phi (B, n, p), one module and one point after the other."""
    single: nn.Module = load(network.entry)(network.n_inputs).double()
    found = []
    for b in range(B):
        single.load_state_dict({n: w[b] for n, w in network.values.items()}, strict=False)
        found.append(autograd_rows(single, x[b]))
    return torch.stack(found)


def test_kernel_and_outputs_are_those_of_autograd(network: Modules, x: Tensor, phi: Tensor) -> None:
    before = [p.clone() for p in network.parameters()]
    ntf, f0 = extract(network, x)
    torch.testing.assert_close(f0, network(x))
    torch.testing.assert_close(ntf.kernel(ntf), phi @ phi.mT, **CLOSE)
    few, _ = extract(network, x[:, :3])
    torch.testing.assert_close(few.kernel(ntf), phi[:, :3] @ phi.mT, **CLOSE)
    assert all(torch.equal(p, old) for p, old in zip(network.parameters(), before, strict=True))


def test_blocks_and_chunks_change_nothing(network: Modules, x: Tensor, phi: Tensor) -> None:
    p = phi.shape[-1]
    for block_size, chunk_size in [
        (p // 3, 100),
        (p // 4 + 1, 1),
        (p - 1, 2),
        (p, 100),
        (p + 1, 4),
    ]:
        ntf = PerSampleNTF(network, x, block_size, chunk_size)
        other = replace(ntf, x=x[:, 1:])
        torch.testing.assert_close(ntf.kernel(other), phi @ phi[:, 1:].mT, **CLOSE)


def test_single_precision_is_summed_in_double(
    autograd_rows: Callable[[nn.Module, Tensor], Tensor],
) -> None:
    network, x = modules("factories:mlp", torch.float32), torch.randn(B, N, 5)
    ntf, f0 = extract(network, x)
    kernel = ntf.kernel(ntf)
    assert (kernel.dtype, f0.dtype) == (torch.float64, torch.float32)
    for b in range(B):
        single: nn.Module = load(network.entry)(network.n_inputs)
        single.load_state_dict({n: w[b] for n, w in network.values.items()})
        rows = autograd_rows(single, x[b]).double()
        # single precision where rows are made: their sums have its error once, not p times
        torch.testing.assert_close(kernel[b], rows @ rows.mT, rtol=1e-6, atol=1e-6)


def as_module(mlp: MLP) -> Modules:
    """The same networks, as ``factories:mlp`` writes them."""
    network = modules("factories:mlp", torch.float32)
    pairs = zip(mlp.weights, mlp.biases, strict=True)
    return network.replace([t for pair in pairs for t in pair])


def test_agrees_with_the_factored_form() -> None:
    mlp = init_mlp(range(B), (5, 6, 4, 1))
    x = torch.randn(B, 11, 5)
    factored, f0 = extract(mlp, x)
    for network in (as_module(mlp), mlp):
        ntf = PerSampleNTF(network, x)
        torch.testing.assert_close(network(x), f0)
        torch.testing.assert_close(ntf.kernel(ntf).float(), factored.kernel(factored))


def test_it_works_where_gradients_are_switched_off(network: Modules, x: Tensor) -> None:
    ntf, _ = extract(network, x)
    expected = ntf.kernel(ntf)
    with torch.inference_mode():
        inside, _ = extract(network.each(Tensor.clone), x.clone())
        assert torch.equal(inside.kernel(inside), expected)


def test_round_trip_through_a_file(network: Modules, tmp_path: Path) -> None:
    network = network.to(torch.float32)
    ntf, f0 = extract(network, torch.randn(B, N, network.n_inputs))
    ntf.save(tmp_path / "ntf.npz", f0)
    again, f0_again = load_ntf(tmp_path / "ntf.npz")
    assert torch.equal(f0_again, f0)
    assert torch.equal(again.kernel(ntf), ntf.kernel(ntf))


def test_no_tensor_outgrows_a_block() -> None:
    class LargestTensor(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            result = func(*args, **(kwargs or {}))
            if isinstance(result, Tensor):
                self.numel = max(self.numel, result.numel())
            return result

    network = build(NetworkOptions(module="factories:wide"), [0], 32)
    x = torch.randn(1, 24, 32)
    ntf = PerSampleNTF(network, x, block_size=128)
    with LargestTensor() as seen:
        ntf.kernel(ntf)
    assert 24 * 64 <= seen.numel <= 24 * 128 < 24 * 32 * 64
