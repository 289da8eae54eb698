"""Inter-gradient alignment against a literal loop, and its limits."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from kerhrm.data.samples import Samples
from kerhrm.errors import KerhrmError
from kerhrm.methods.iga.options import IGA
from kerhrm.methods.iga.train import gradient_variance, train_iga
from kerhrm.methods.irm.options import PointLoss
from kerhrm.methods.irmv1 import environment_means, point_loss, within_environments
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.training import train

B, N, D = 2, 36, 4
LOSSES: tuple[PointLoss, ...] = ("squared", "logistic")


@pytest.fixture
def samples(draw_samples: Callable[..., Samples]) -> Samples:
    return draw_samples(seeds=range(B), n=N, d=D, environments=3)


@pytest.fixture
def mlp() -> MLP:
    return init_mlp(range(B), (D, 8, 6, 1))


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
def test_value_and_gradient_by_a_loop(
    samples: Samples, mlp: MLP, n_environments: int, loss: PointLoss
) -> None:
    x, y = samples.x.double(), samples.y.double()
    mlp = MLP([w.double() for w in mlp.weights], [b.double() for b in mlp.biases])
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


def test_one_environment_has_no_variance(samples: Samples, mlp: MLP) -> None:
    networks = mlp.trainable_copy()
    one = torch.zeros(B, N, dtype=torch.int64)
    values = risks(networks, samples.x, samples.y, one, "squared")
    assert gradient_variance(values, networks).tolist() == [0.0] * B


def test_equal_environments_have_no_variance(samples: Samples, mlp: MLP) -> None:
    networks = mlp.trainable_copy()
    labels = (torch.arange(2 * N) // N).expand(B, -1)
    values = risks(networks, samples.x.repeat(1, 2, 1), samples.y.repeat(1, 2), labels, "squared")
    torch.testing.assert_close(
        gradient_variance(values, networks), torch.zeros(B), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize(("one", "penalty"), [(False, 0.0), (True, 100.0)])
@pytest.mark.parametrize("loss", LOSSES)
def test_penalty_zero_and_one_environment_are_erm(
    samples: Samples, mlp: MLP, loss: PointLoss, one: bool, penalty: float
) -> None:
    x, y = samples.x, samples.y
    if one:
        samples = replace(samples, environment=torch.zeros(B, N, dtype=torch.int64))
    options = IGA(loss=loss, penalty=penalty, steps=25, learning_rate=1e-2)
    erm = train(
        mlp, x, lambda f, r: point_loss(f, y[r], loss).mean(-1), steps=25, learning_rate=1e-2
    )
    got = train_iga(samples, mlp, options, [25])[0](x)
    torch.testing.assert_close(got, erm(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("penalty", [0.5, 20.0])
def test_training_by_a_loop(samples: Samples, mlp: MLP, penalty: float) -> None:
    options = IGA(penalty=penalty, steps=20, learning_rate=1e-2)
    (trained,) = train_iga(samples, mlp, options, [20])
    assert samples.environment is not None
    for b in range(B):
        x, y, labels = samples.x[[b]], samples.y[[b]], samples.environment[b]
        own = mlp.take(slice(b, b + 1)).trainable_copy()
        optimiser = torch.optim.Adam(own.parameters(), lr=1e-2)
        for _ in range(20):
            optimiser.zero_grad()
            f = own(x)[0]
            total = torch.stack([((f - y[0]) ** 2)[labels == e].mean() for e in range(3)]).mean()
            total = total + penalty * literal(own, x, y, labels, "squared")
            total.backward()
            optimiser.step()
        torch.testing.assert_close(trained(samples.x)[b], own(x)[0], rtol=1e-3, atol=1e-3)


def test_a_penalty_aligns_the_gradients(samples: Samples, mlp: MLP) -> None:
    assert samples.environment is not None
    spread = []
    for penalty in (0.0, 0.03, 0.1):
        options = IGA(penalty=penalty, steps=60, learning_rate=1e-2)
        network = train_iga(samples, mlp, options, [60])[0].trainable_copy()
        values = risks(network, samples.x, samples.y, samples.environment, "squared")
        spread.append(gradient_variance(values, network).detach())
    assert bool((torch.stack(spread).diff(dim=0) < 0).all())


def test_the_logistic_loss_is_for_labels(draw_samples: Callable[..., Samples], mlp: MLP) -> None:
    samples = draw_samples("regression", range(B), d=D)
    with pytest.raises(KerhrmError, match="logistic"):
        train_iga(samples, mlp, IGA(loss="logistic", steps=1), [1])
