"""IRMv1: its penalty against autograd, its schedule and its limits."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kerhrm.data.samples import Samples
from kerhrm.errors import KerhrmError
from kerhrm.methods.irm.options import IRM, PointLoss
from kerhrm.methods.irmv1 import (
    environment_means,
    irm_penalty,
    mean_risk,
    point_loss,
    scale_gradient,
    train_irmv1,
)
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.training import train

B, N, D = 3, 40, 4
LOSSES: tuple[PointLoss, ...] = ("squared", "logistic")


def literal(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Mean loss of outputs (n,), by torch."""
    if loss == "squared":
        return nn.functional.mse_loss(f, y)
    return nn.functional.binary_cross_entropy_with_logits(f, (y > 0).to(f))


def literal_penalty(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Squared gradient of the risk with respect to a dummy scale."""
    scale = torch.ones((), dtype=f.dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(literal(scale * f, y, loss), scale, create_graph=True)
    return gradient**2


def outputs(seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """f, y and labels of three environments of unequal sizes, which differ between seeds."""
    rng = np.random.default_rng(seed)
    f = torch.from_numpy(2 * rng.standard_normal((B, N)))
    y = torch.from_numpy(rng.choice([-1.0, 1.0], (B, N)))
    return f, y, torch.from_numpy(rng.choice(3, (B, N), p=[0.2, 0.3, 0.5]))


@pytest.mark.parametrize("loss", LOSSES)
def test_risk_and_penalty_by_autograd(loss: PointLoss) -> None:
    f, y, environment = outputs()
    f.requires_grad_()
    means = environment_means(environment)
    risk, penalty = mean_risk(f, y, means, loss), irm_penalty(f, y, means, loss)
    for b in range(B):
        parts = [(f[b][environment[b] == e], y[b][environment[b] == e]) for e in range(3)]
        expected_risk = torch.stack([literal(*part, loss) for part in parts]).mean()
        expected = torch.stack([literal_penalty(*part, loss) for part in parts]).mean()
        torch.testing.assert_close(risk[b], expected_risk)
        torch.testing.assert_close(penalty[b], expected)
        for got, wanted in ((risk[b], expected_risk), (penalty[b], expected)):
            torch.testing.assert_close(
                *(torch.autograd.grad(v, f, retain_graph=True)[0] for v in (got, wanted))
            )


@pytest.mark.parametrize("loss", LOSSES)
def test_large_outputs_stay_finite(loss: PointLoss) -> None:
    f, y = torch.tensor([[-1e4, 1e4]]), torch.tensor([[1.0, 1.0]])
    assert bool(point_loss(f, y, loss).isfinite().all())
    assert bool(scale_gradient(f, y, loss).isfinite().all())


def test_an_environment_without_points_does_not_count() -> None:
    f, y, environment = outputs()
    environment[0] = 2 * (environment[0] > 0)  # no point has label 1
    got = irm_penalty(f, y, environment_means(environment), "squared")
    renamed = environment_means((environment[:1] > 0).long())
    torch.testing.assert_close(got[:1], irm_penalty(f[:1], y[:1], renamed, "squared"))


@pytest.fixture
def samples(draw_samples: Callable[..., Samples]) -> Samples:
    """With two environments of equal size."""
    return draw_samples(seeds=range(B), n=N, d=D)


@pytest.fixture
def mlp() -> MLP:
    return init_mlp(range(B), (D, 16, 1))


@pytest.mark.parametrize("anneal", [0, 7])
@pytest.mark.parametrize("loss", LOSSES)
def test_weight_zero_is_erm(samples: Samples, mlp: MLP, loss: PointLoss, anneal: int) -> None:
    options = IRM(loss=loss, weight=0.0, anneal=anneal, steps=25, learning_rate=1e-2)
    x, y = samples.x, samples.y
    erm = train(
        mlp, x, lambda f, r: point_loss(f, y[r], loss).mean(-1), steps=25, learning_rate=1e-2
    )
    got = train_irmv1(samples, mlp, options, [25])[0](x)
    torch.testing.assert_close(got, erm(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("anneal", [0, 10])
@pytest.mark.parametrize(("weight", "decay"), [(0.3, 0.0), (3.0, 0.02), (500.0, 0.5)])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_schedule_by_a_torch_loop(
    samples: Samples, mlp: MLP, loss: PointLoss, weight: float, decay: float, anneal: int
) -> None:
    steps = 25
    options = IRM(
        loss=loss, weight=weight, anneal=anneal, steps=steps, learning_rate=1e-2, weight_decay=decay
    )
    (trained,) = train_irmv1(samples, mlp, options, [steps])
    assert samples.environment is not None
    for b in range(B):
        x, y, environment = samples.x[[b]], samples.y[b], samples.environment[b]
        own = mlp.take(slice(b, b + 1)).trainable_copy()
        optimiser = torch.optim.Adam(own.parameters(), lr=1e-2)
        for step in range(steps):
            f = own(x)[0]
            total = decay * sum(p.norm() ** 2 for p in own.parameters())
            now = min(weight, 1.0) if step < anneal else weight
            for e in range(2):
                part = f[environment == e], y[environment == e]
                total = total + literal(*part, loss) / 2
                total = total + now * literal_penalty(*part, loss) / 2
            optimiser.zero_grad()
            (total / max(now, 1.0)).backward()
            optimiser.step()
        torch.testing.assert_close(trained(samples.x)[b], own(x)[0], rtol=1e-3, atol=1e-3)


def spurious(rates: tuple[float, ...], n: int) -> Samples:
    """Points (n each) of a noisy cause of y and a precise attribute that agrees at the rates."""
    y = torch.sign(torch.randn(B, len(rates), n))
    agrees = torch.rand(B, len(rates), n) < torch.tensor(rates)[:, None]
    x = torch.stack([y + 1.5 * torch.randn(y.shape), torch.where(agrees, y, -y)], dim=-1)
    environment = torch.arange(len(rates))[:, None].expand(y.shape).flatten(1)
    x, y = x.flatten(1, 2), y.flatten(1)
    return Samples(x, y, x, y, environment, range(B), "classification")


@pytest.mark.parametrize("loss", LOSSES)
def test_the_penalty_turns_away_from_the_spurious_attribute(loss: PointLoss) -> None:
    train_on, test = spurious((0.95, 0.7), 400), spurious((0.1,), 500)
    mlp = init_mlp(range(B), (2, 32, 1))
    hits = []
    for weight in (0.0, 1e3):
        options = IRM(loss=loss, weight=weight, anneal=30, steps=200, learning_rate=1e-2)
        outputs = train_irmv1(train_on, mlp, options, [200])[0](test.x)
        hits.append(((outputs > 0) == (test.y > 0)).double().mean(-1))
    assert bool((hits[1] > hits[0] + 0.1).all())


def test_the_logistic_loss_is_for_labels(draw_samples: Callable[..., Samples], mlp: MLP) -> None:
    samples = draw_samples("regression", range(B), d=D)
    with pytest.raises(KerhrmError, match="logistic"):
        train_irmv1(samples, mlp, IRM(loss="logistic", steps=1), [1])
