"""Inter-gradient alignment against a literal loop, and its limits."""

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features.mlp import MLP, init_mlp
from kerhrm.methods.iga import gradient_variance, train_iga
from kerhrm.methods.irm import PointLoss, environment_means, point_loss, within_environments
from kerhrm.methods.training import train

B, N, D = 2, 36, 4
LOSSES: tuple[PointLoss, ...] = ("squared", "logistic")

Sample = tuple[MLP, Tensor, Tensor]


@pytest.fixture
def sample() -> Sample:
    x = torch.randn(B, N, D)
    y = torch.sign(x[..., 0] + torch.randn(B, N))
    return init_mlp(range(B), (D, 8, 6, 1)), x, y


def risks(networks: MLP, x: Tensor, y: Tensor, environment: Tensor, loss: PointLoss) -> Tensor:
    means = environment_means(environment).to(x)
    return within_environments(point_loss(networks(x), y, loss), means)


def literal(own: MLP, x: Tensor, y: Tensor, labels: Tensor, loss: PointLoss) -> Tensor:
    """Sum over environments of |grad L^e - mean grad|^2 of one network (batch of 1)."""
    gradients = []
    for e in labels.unique():
        risk = point_loss(own(x)[0], y[0], loss)[labels == e].mean()
        parts = torch.autograd.grad(risk, own.parameters(), create_graph=True)
        gradients.append(torch.cat([part.flatten() for part in parts]))
    mean = torch.stack(gradients).mean(0)
    return torch.stack([((g - mean) ** 2).sum() for g in gradients]).sum()


@pytest.mark.parametrize("n_environments", [2, 3, 4])
@pytest.mark.parametrize("loss", LOSSES)
def test_value_and_gradient_by_a_loop(sample: Sample, n_environments: int, loss: PointLoss) -> None:
    single, x, y = sample[0], sample[1].double(), sample[2].double()
    mlp = MLP([w.double() for w in single.weights], [b.double() for b in single.biases])
    # shares of the environments are unequal, and not the same in the two networks
    labels = torch.stack([torch.arange(N) % (5 + b) % n_environments for b in range(B)])
    networks = mlp.trainable_copy()
    got = gradient_variance(risks(networks, x, y, labels, loss), networks)
    slopes = torch.autograd.grad(got.sum(), networks.parameters())
    for b in range(B):
        own = mlp.take(slice(b, b + 1)).trainable_copy()
        expected = literal(own, x[[b]], y[[b]], labels[b], loss)
        torch.testing.assert_close(got[b], expected)
        assert float(expected.detach()) > 0
        wanted = torch.autograd.grad(expected, own.parameters(), allow_unused=True)
        for slope, part in zip(slopes, wanted, strict=True):
            part = torch.zeros_like(slope[[b]]) if part is None else part
            torch.testing.assert_close(slope[b], part[0])


def test_one_environment_has_no_variance(sample: Sample) -> None:
    mlp, x, y = sample
    networks = mlp.trainable_copy()
    values = risks(networks, x, y, torch.zeros(B, N, dtype=torch.int64), "squared")
    assert gradient_variance(values, networks).tolist() == [0.0] * B


def test_equal_environments_have_no_variance(sample: Sample) -> None:
    mlp, x, y = sample
    networks = mlp.trainable_copy()
    labels = (torch.arange(2 * N) // N).expand(B, -1)
    values = risks(networks, x.repeat(1, 2, 1), y.repeat(1, 2), labels, "squared")
    torch.testing.assert_close(
        gradient_variance(values, networks), torch.zeros(B), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_penalty_zero_and_one_environment_are_erm(sample: Sample, loss: PointLoss) -> None:
    mlp, x, y = sample
    equal = (torch.arange(N) % 2).expand(B, -1)
    for labels, penalty in ((equal, 0.0), (torch.zeros_like(equal), 100.0)):
        (network,), _ = train_iga(
            mlp, x, y, x, y, labels, labels, task="classification", loss=loss,
            penalty=[penalty], steps=25, learning_rate=1e-2,
        )  # fmt: skip
        erm = train(
            mlp, x, lambda f, r: point_loss(f, y[r], loss).mean(-1), steps=25, learning_rate=1e-2
        )
        torch.testing.assert_close(network(x), erm(x), rtol=1e-3, atol=1e-3)


def test_training_by_a_loop(sample: Sample) -> None:
    mlp, x, y = sample
    labels = (torch.arange(N) % 3).expand(B, -1)
    penalties = [0.5, 20.0]
    candidates, _ = train_iga(
        mlp, x, y, x, y, labels, labels, task="regression", loss="squared",
        penalty=penalties, steps=20, learning_rate=1e-2,
    )  # fmt: skip
    for penalty, trained in zip(penalties, candidates, strict=True):
        for b in range(B):
            own = mlp.take(slice(b, b + 1)).trainable_copy()
            optimiser = torch.optim.Adam(own.parameters(), lr=1e-2)
            for _ in range(20):
                optimiser.zero_grad()
                total = risks(own, x[[b]], y[[b]], labels[[b]], "squared").mean()
                total = total + penalty * literal(own, x[[b]], y[[b]], labels[b], "squared")
                total.backward()
                optimiser.step()
            torch.testing.assert_close(trained(x)[b], own(x[[b]])[0], rtol=1e-3, atol=1e-3)


def test_a_penalty_aligns_the_gradients(sample: Sample) -> None:
    mlp, x, y = sample
    labels = (torch.arange(N) % 2).expand(B, -1)
    candidates, _ = train_iga(
        mlp, x, y, x, y, labels, labels, task="classification", loss="squared",
        penalty=[0.0, 1.0, 100.0], steps=60, learning_rate=1e-2,
    )  # fmt: skip
    spread = []
    for network in candidates:
        copy = network.trainable_copy()
        spread.append(gradient_variance(risks(copy, x, y, labels, "squared"), copy).detach())
    assert bool((torch.stack(spread).diff(dim=0) < 0).all())


def test_the_worst_labelled_environment_decides(sample: Sample) -> None:
    mlp, x, y = sample
    labels = (torch.arange(N) % 2).expand(B, -1)
    x_validation, y_validation = torch.randn(B, 50, D), torch.randn(B, 50)
    labels_validation = (torch.rand(B, 50) < 0.2).long()
    candidates, chosen = train_iga(
        mlp, x, y, x_validation, y_validation, labels, labels_validation,
        task="regression", loss="squared", penalty=[0.0, 3.0, 100.0],
        steps=40, learning_rate=1e-2,
    )  # fmt: skip
    for b in range(B):
        worst = []
        for network in candidates:
            errors = ((network(x_validation)[b] - y_validation[b]) ** 2).numpy()
            worst.append(max(errors[labels_validation[b].numpy() == e].mean() for e in (0, 1)))
        assert int(chosen[b]) == int(np.argmin(worst))


def test_the_logistic_loss_is_for_labels(sample: Sample) -> None:
    mlp, x, y = sample
    labels = torch.zeros(B, N, dtype=torch.int64)
    with pytest.raises(KerhrmError, match="logistic"):
        train_iga(
            mlp, x, y, x, y, labels, labels, task="regression", loss="logistic",
            penalty=[1.0], steps=1, learning_rate=1e-3,
        )  # fmt: skip
