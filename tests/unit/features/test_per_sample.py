"""Per-sample gradients of general modules against a plain autograd loop."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from kerhrm.errors import KerhrmError
from kerhrm.features import ntf, per_sample
from kerhrm.features.mlp import init_mlp

Rows = Callable[[nn.Module, Tensor], Tensor]
N = 7


class OneNumber(nn.Module):
    """Output (n,) instead of (n, 1), and one weight matrix used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 5, dtype=torch.float64)
        self.second = nn.Linear(5, 5, dtype=torch.float64)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor(0.7, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * self.second(torch.tanh(self.first(x))).sum(-1)


class BatchMean(nn.Linear):
    """One number for the whole batch."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).mean(0)


def mlp() -> tuple[nn.Module, Tensor]:
    net = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1))
    return net.double(), torch.randn(N, 5, dtype=torch.float64)


def shared() -> tuple[nn.Module, Tensor]:
    return OneNumber(), torch.randn(N, 5, dtype=torch.float64)


def convolutional() -> tuple[nn.Module, Tensor]:
    net = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Dropout(0.5), nn.Linear(12, 1),
    ).double()  # fmt: skip
    for _ in range(3):  # running statistics away from (0, 1)
        net(1 + 2 * torch.randn(20, 2, 6, 6, dtype=torch.float64))
    return net.eval(), torch.randn(N, 2, 6, 6, dtype=torch.float64)


@pytest.fixture(params=[mlp, shared, convolutional], ids=lambda make: make.__name__)
def case(request: pytest.FixtureRequest) -> tuple[nn.Module, Tensor]:
    return request.param()


def test_rows_gram_and_outputs_are_those_of_autograd(
    case: tuple[nn.Module, Tensor], autograd_rows: Rows
) -> None:
    module, x = case
    state = {name: t.clone() for name, t in module.state_dict().items()}
    expected = autograd_rows(module, x)
    close = {"rtol": 1e-12, "atol": 1e-12}
    torch.testing.assert_close(per_sample.rows(module, x), expected, **close)
    some = torch.tensor([5, 1])
    torch.testing.assert_close(per_sample.rows(module, x, some), expected[some], **close)
    torch.testing.assert_close(per_sample.gram(module, x), expected @ expected.T, **close)
    torch.testing.assert_close(
        per_sample.gram(module, x[:3], x), expected[:3] @ expected.T, **close
    )
    torch.testing.assert_close(
        per_sample.predict(module, x, chunk_size=3), module(x).detach().reshape(N), **close
    )
    assert all(torch.equal(t, state[name]) for name, t in module.state_dict().items())
    assert all(p.grad is None for p in module.parameters())


def test_blocks_and_chunks_change_nothing(
    case: tuple[nn.Module, Tensor], autograd_rows: Rows
) -> None:
    module, x = case
    phi = autograd_rows(module, x)
    p = phi.shape[1]
    for block_size, chunk_size in [(1, 100), (5, 1), (13, 3), (p - 1, 2), (p, 100), (p + 1, 4)]:
        got = per_sample.gram(module, x, x[1:], block_size=block_size, chunk_size=chunk_size)
        torch.testing.assert_close(got, phi @ phi[1:].T, rtol=1e-12, atol=1e-12)


def test_precision_is_the_callers_choice() -> None:
    net, x = nn.Linear(50, 1), torch.randn(6, 50)
    exact = x.double() @ x.double().T + 1
    wide, narrow = per_sample.gram(net, x), per_sample.gram(net, x, dtype=None)
    assert (wide.dtype, narrow.dtype) == (torch.float64, torch.float32)
    torch.testing.assert_close(wide, exact, rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(narrow.double(), exact, rtol=1e-5, atol=1e-5)
    assert per_sample.rows(net, x).dtype == torch.float32


def test_agrees_with_the_factored_form() -> None:
    batch = init_mlp([3], (4, 16, 1))
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    net.load_state_dict(
        {"0.weight": batch.weights[0][0], "0.bias": batch.biases[0][0],
         "2.weight": batch.weights[1][0], "2.bias": batch.biases[1][0]}
    )  # fmt: skip
    x = torch.randn(11, 4)
    factored, f0 = ntf.extract(batch, x[None])
    torch.testing.assert_close(
        per_sample.gram(net, x, dtype=None), ntf.kernel(factored, factored)[0]
    )
    torch.testing.assert_close(per_sample.rows(net, x), factored.rows(slice(None))[0])
    torch.testing.assert_close(per_sample.predict(net, x), f0[0])


def test_no_tensor_outgrows_a_block() -> None:
    class LargestTensor(TorchDispatchMode):
        numel = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            result = func(*args, **(kwargs or {}))
            if isinstance(result, Tensor):
                self.numel = max(self.numel, result.numel())
            return result

    net, x = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)), torch.randn(24, 32)
    block_size = 128
    with LargestTensor() as seen:
        per_sample.gram(net, x, block_size=block_size)
    assert 24 * 64 <= seen.numel <= 24 * block_size < 24 * 32 * 64


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear(3, 2), r"shape \(2, 2\), not to one number a point; give it a single output"),
        (BatchMean(3, 1), r"shape \(1,\), not to one number"),
        (nn.Sequential(nn.Dropout(), nn.Linear(3, 1)), r"0 \(Dropout\).*training.*module\.eval"),
        (nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1)), r"1 \(BatchNorm1d\).*module\.eval"),
        (
            nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1, track_running_stats=False)).eval(),
            "track_running_stats=True",
        ),
    ],
    ids=["vector", "mean over the batch", "dropout", "batchnorm", "batch statistics"],
)
@pytest.mark.parametrize("function", [per_sample.gram, per_sample.rows, per_sample.predict])
def test_what_is_no_function_to_one_number_is_refused(
    function: Callable[[nn.Module, Tensor], Tensor], module: nn.Module, message: str
) -> None:
    with pytest.raises(KerhrmError, match=message):
        function(module, torch.randn(2, 3))
