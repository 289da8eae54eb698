"""Training of a batch against one torch module after another."""

import pytest
import torch
from torch import Tensor, nn

from kerhrm.errors import KerhrmError
from kerhrm.networks import training
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.training import Loss, train

SEEDS, SIZES, N = [0, 1, 2], (4, 8, 6, 1), 20


def data() -> tuple[MLP, Tensor, Tensor]:
    x = torch.randn(len(SEEDS), N, SIZES[0])
    return init_mlp(SEEDS, SIZES), x, torch.randn(len(SEEDS), N)


def squared(y: Tensor) -> Loss:
    return lambda f, rows: ((f - y[rows]) ** 2).mean(-1)


def module(mlp: MLP, b: int) -> nn.Sequential:
    """Network b as torch would write it."""
    layers: list[nn.Module] = []
    for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
        linear = nn.Linear(weight.shape[2], weight.shape[1])
        linear.weight.data, linear.bias.data = weight[b].clone(), bias[b].clone()
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def test_each_network_is_trained_as_torch_would() -> None:
    mlp, x, y = data()
    trained = train(mlp, x, squared(y), steps=30, learning_rate=1e-2)
    outputs = trained(x)
    for b in range(len(SEEDS)):
        network = module(mlp, b)
        optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
        for _ in range(30):
            optimiser.zero_grad()
            nn.functional.mse_loss(network(x[b]).squeeze(-1), y[b]).backward()
            optimiser.step()
        torch.testing.assert_close(outputs[b], network(x[b]).squeeze(-1), rtol=1e-3, atol=1e-4)
    everyone = slice(None)
    assert bool((squared(y)(outputs, everyone) < 0.9 * squared(y)(mlp(x), everyone)).all())


def test_a_network_does_not_notice_the_others() -> None:
    mlp, x, y = data()
    together = train(mlp, x, squared(y), steps=20, learning_rate=1e-2)(x)
    for b in range(len(SEEDS)):
        one = mlp.take(slice(b, b + 1))
        alone = train(one, x[[b]], squared(y[[b]]), steps=20, learning_rate=1e-2)(x[[b]])
        torch.testing.assert_close(together[b], alone[0], rtol=1e-4, atol=1e-5)


def test_the_initial_networks_stay_as_they_are() -> None:
    mlp, x, y = data()
    before = [p.clone() for p in mlp.parameters()]
    trained = train(mlp, x, squared(y), steps=3, learning_rate=1e-2)
    for p, old, new in zip(mlp.parameters(), before, trained.parameters(), strict=True):
        assert torch.equal(p, old)
        assert p.grad is None
        assert not p.requires_grad
        assert not torch.equal(p, new)
        assert not new.requires_grad


@pytest.mark.parametrize("steps", [1, 13])
def test_every_step_of_every_network_is_shown(steps: int) -> None:
    mlp, x, y = data()
    shown: list[list[tuple[int, Tensor]]] = [[] for _ in SEEDS]

    def look(step: int, networks: MLP, rows: slice, losses: Tensor) -> None:
        for b, outputs in zip(range(*rows.indices(len(x))), networks(x[rows]), strict=True):
            shown[b].append((step, outputs.detach()))

    trained = train(mlp, x, squared(y), steps=steps, learning_rate=1e-2, after_step=look)
    for b, outputs in enumerate(trained(x)):
        assert [step for step, _ in shown[b]] == list(range(1, steps + 1))
        torch.testing.assert_close(shown[b][-1][1], outputs)
        # the first step is shown after it was taken
        assert not torch.allclose(shown[b][0][1], mlp(x)[b])


def test_out_of_memory_takes_fewer_networks_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mlp, x, y = data()
    expected = train(mlp, x, squared(y), steps=4, learning_rate=1e-2)
    monkeypatch.setattr(training, "networks_at_once", lambda device, n: n)
    loss, groups = squared(y), []

    def limited(f: Tensor, rows: slice, limit: int = 2) -> Tensor:
        if len(f) > limit:
            raise torch.cuda.OutOfMemoryError("as a GPU says it")
        groups.append(len(f))
        return loss(f, rows)

    trained = train(mlp, x, limited, steps=4, learning_rate=1e-2)
    assert set(groups) == {1, 2}
    assert "going on with 2 networks" in caplog.text
    torch.testing.assert_close(trained(x), expected(x))
    with pytest.raises(KerhrmError, match=r"single network.*device=cpu"):
        train(mlp, x, lambda f, rows: limited(f, rows, 0), steps=4, learning_rate=1e-2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_trains_all_at_once_and_alike() -> None:
    mlp, x, y = data()
    groups: list[slice] = []
    trained = train(
        mlp.to("cuda"),
        x.to("cuda"),
        squared(y.to("cuda")),
        steps=5,
        learning_rate=1e-2,
        after_step=lambda step, networks, rows, losses: groups.append(rows),
    )
    assert len(groups) == 5
    expected = train(mlp, x, squared(y), steps=5, learning_rate=1e-2)
    torch.testing.assert_close(trained.to("cpu")(x), expected(x), rtol=1e-3, atol=1e-4)
