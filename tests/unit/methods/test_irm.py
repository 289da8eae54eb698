"""IRMv1: its penalty against autograd, its schedule, its limits and the rule that chooses."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kerhrm.errors import KerhrmError
from kerhrm.features.mlp import MLP, init_mlp
from kerhrm.methods.choices import best_worst_environment
from kerhrm.methods.irm import (
    PointLoss,
    environment_means,
    irm_penalty,
    mean_risk,
    point_loss,
    scale_gradient,
    train_irm,
    train_pairs,
)
from kerhrm.methods.training import train

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


Sample = tuple[MLP, Tensor, Tensor, Tensor]


@pytest.fixture
def sample() -> Sample:
    """Networks, points, labels and two environments of equal size."""
    x = torch.randn(B, N, D)
    y = torch.sign(x[..., 0] + torch.randn(B, N))
    environment = (torch.rand(B, N).argsort(-1) < N // 2).long()
    return init_mlp(range(B), (D, 16, 1)), x, y, environment


def close(a: MLP, b: MLP, x: Tensor) -> None:
    torch.testing.assert_close(a(x), b(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_weight_zero_is_erm(sample: Sample, loss: PointLoss) -> None:
    mlp, x, y, environment = sample
    networks = train_pairs(
        mlp, x, y, environment,
        loss=loss, weight=[0.0], anneal=[0, 7], steps=25, learning_rate=1e-2,
    )  # fmt: skip
    erm = train(
        mlp, x, lambda f, r: point_loss(f, y[r], loss).mean(-1), steps=25, learning_rate=1e-2
    )
    for network in networks:
        close(network, erm, x)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_schedule_by_a_torch_loop(sample: Sample, loss: PointLoss) -> None:
    mlp, x, y, environment = sample
    weight, anneal, steps = [3.0, 500.0], [0, 10], 25
    networks = train_pairs(
        mlp, x, y, environment,
        loss=loss, weight=weight, anneal=anneal, steps=steps, learning_rate=1e-2,
    )  # fmt: skip
    pairs = [(lam, start) for lam in weight for start in anneal]
    for (lam, start), trained in zip(pairs, networks, strict=True):
        for b in range(B):
            own = mlp.take(slice(b, b + 1)).trainable_copy()
            optimiser = torch.optim.Adam(own.parameters(), lr=1e-2)
            for step in range(steps):
                f = own(x[[b]])[0]
                total = torch.zeros(())
                now = 1.0 if step < start else lam
                for e in range(2):
                    part = f[environment[b] == e], y[b][environment[b] == e]
                    total = total + literal(*part, loss) / 2
                    total = total + now * literal_penalty(*part, loss) / 2
                optimiser.zero_grad()
                (total / now).backward()
                optimiser.step()
            torch.testing.assert_close(trained(x)[b], own(x[[b]])[0], rtol=1e-3, atol=1e-3)


def spurious(rates: tuple[float, ...], n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points (n each) of a noisy cause of y and a precise attribute that agrees at the rates."""
    y = torch.sign(torch.randn(B, len(rates), n))
    agrees = torch.rand(B, len(rates), n) < torch.tensor(rates)[:, None]
    x = torch.stack([y + 1.5 * torch.randn(y.shape), torch.where(agrees, y, -y)], dim=-1)
    environment = torch.arange(len(rates))[:, None].expand(y.shape)
    return x.flatten(1, 2), y.flatten(1), environment.flatten(1)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_penalty_turns_away_from_the_spurious_attribute(loss: PointLoss) -> None:
    x, y, environment = spurious((0.95, 0.7), 400)
    x_test, y_test, _ = spurious((0.1,), 500)
    erm, irm = train_pairs(
        init_mlp(range(B), (2, 32, 1)), x, y, environment,
        loss=loss, weight=[0.0, 1e3], anneal=[30], steps=200, learning_rate=1e-2,
    )  # fmt: skip
    hits = [((net(x_test) > 0) == (y_test > 0)).double().mean(-1) for net in (erm, irm)]
    assert bool((hits[1] > hits[0] + 0.1).all())


def test_the_worst_labelled_environment_decides(sample: Sample) -> None:
    mlp, x, y, environment = sample
    x_validation, y_validation, labels = torch.randn(B, 50, D), torch.randn(B, 50), outputs()[2]
    labels = labels.repeat(1, 2)[:, :50]
    candidates, chosen = train_irm(
        mlp, x, y, x_validation, y_validation, environment, labels,
        task="regression", loss="squared", weight=[0.0, 30.0, 1e3], anneal=[0, 20],
        steps=40, learning_rate=1e-2,
    )  # fmt: skip
    assert len(candidates) == 6
    for b in range(B):
        worst = []
        for network in candidates:
            errors = ((network(x_validation)[b] - y_validation[b]) ** 2).numpy()
            worst.append(max(errors[labels[b].numpy() == e].mean() for e in range(3)))
        assert int(chosen[b]) == int(np.argmin(worst))


def test_the_rule_in_classification() -> None:
    # networks of no hidden unit's influence: constant answers +1 or -1, and one that knows
    x = torch.tensor([[[1.0], [1.0], [1.0], [-1.0]]])
    y, labels = torch.tensor([[1.0, 1.0, 1.0, -1.0]]), torch.tensor([[0, 0, 0, 1]])

    def network(slope: float, offset: float) -> MLP:
        weights = [torch.tensor([[[1.0]]]), torch.tensor([[[slope]]])]
        return MLP(weights, [torch.zeros(1, 1), torch.full((1, 1), offset)])

    always, knows = network(0.0, 1.0), network(1.0, -0.5)
    never = network(0.0, -1.0)
    for candidates, best in (([always, knows], 1), ([knows, always], 0), ([always, never], 0)):
        chosen = best_worst_environment(candidates, x, y, labels, "classification")
        assert chosen.tolist() == [best]


def test_the_logistic_loss_is_for_labels(sample: Sample) -> None:
    mlp, x, y, environment = sample
    with pytest.raises(KerhrmError, match="logistic"):
        train_irm(
            mlp, x, y, x, y, environment, environment,
            task="regression", loss="logistic", weight=[1.0], anneal=[0],
            steps=1, learning_rate=1e-3,
        )  # fmt: skip
