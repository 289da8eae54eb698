"""Batched networks: their initialisation, and that a batch is B separate networks."""

import numpy as np
import pytest
import torch
from torch import nn

from kerhrm.networks.mlp import MLP, init_mlp


def sequential(mlp: MLP, b: int) -> nn.Sequential:
    """Network b of the batch, as PyTorch writes it."""
    layers: list[nn.Module] = []
    for weight, bias in zip(mlp.weights, mlp.biases, strict=True):
        linear = nn.Linear(*weight[b].T.shape, dtype=weight.dtype)
        with torch.no_grad():
            linear.weight.copy_(weight[b])
            linear.bias.copy_(bias[b])
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def test_initial_weights_are_uniform_within_the_default_bounds() -> None:
    mlp = init_mlp(range(4), (9, 300, 40, 1))
    assert [tuple(t.shape) for t in mlp.parameters()] == [
        (4, 300, 9), (4, 40, 300), (4, 1, 40), (4, 300), (4, 40), (4, 1),
    ]  # fmt: skip
    for fan_in, weight, bias in zip((9, 300, 40), mlp.weights, mlp.biases, strict=True):
        assert weight.dtype == torch.float32
        for t in (weight, bias):
            u = t.flatten().double() * fan_in**0.5  # U(-1, 1)
            assert float(u.abs().max()) <= 1 + 1e-6
            assert abs(float(u.mean())) < 5 * (1 / 3 / len(u)) ** 0.5
            # u^2 has mean 1/3 and variance 4/45
            assert abs(float((u**2).mean()) - 1 / 3) < 5 * (4 / 45 / len(u)) ** 0.5


def test_a_network_depends_on_its_own_seed_alone() -> None:
    alone, among = init_mlp([7], (5, 6, 1)), init_mlp([3, 7, 11], (5, 6, 1))
    for a, b in zip(alone.parameters(), among.parameters(), strict=True):
        assert torch.equal(a[0], b[1])
        assert not torch.equal(b[0], b[1])


@pytest.mark.parametrize("sizes", [(4, 16, 1), (4, 16, 8, 1), (4, 1)])
def test_forward_agrees_with_torch_modules(sizes: tuple[int, ...]) -> None:
    mlp = init_mlp([0, 1, 2], sizes)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 10, 4))).float()
    networks = [sequential(mlp, b) for b in range(3)]
    expected = torch.stack([f(x[b]).squeeze(-1) for b, f in enumerate(networks)])
    torch.testing.assert_close(mlp(x), expected)
    assert mlp.n_parameters == sum(p.numel() for p in networks[0].parameters())


def test_training_one_network_moves_neither_the_others_nor_the_original() -> None:
    mlp = init_mlp([0, 1], (4, 16, 1))
    before = [t.clone() for t in mlp.parameters()]
    copy = mlp.trainable_copy()
    optimiser = torch.optim.SGD(copy.parameters(), lr=0.1)
    copy(torch.ones(2, 5, 4))[0].sum().backward()
    optimiser.step()
    for now, new, old in zip(mlp.parameters(), copy.parameters(), before, strict=True):
        assert torch.equal(now, old)
        assert torch.equal(new[1], old[1])
        assert not torch.equal(new[0], old[0])
