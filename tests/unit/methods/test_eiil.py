"""EIIL: the inference against autograd, brute force and a planted split; then IRMv1."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from kerhrm.data.samples import Samples
from kerhrm.errors import KerhrmError
from kerhrm.methods.eiil.options import EIIL
from kerhrm.methods.eiil.train import infer_environments, soft_penalty, train_eiil
from kerhrm.methods.irm.options import IRM, PointLoss
from kerhrm.methods.irmv1 import point_loss, scale_gradient, train_irmv1
from kerhrm.networks.mlp import init_mlp
from kerhrm.networks.training import train

B = 3
LOSSES: tuple[PointLoss, ...] = ("squared", "logistic")


def outputs(n: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(0)
    f = torch.from_numpy(rng.standard_normal((B, n)))
    return f, torch.from_numpy(rng.choice([-1.0, 1.0], (B, n)))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_by_a_dummy_scale(loss: PointLoss) -> None:
    f, y = outputs(30)
    w = torch.randn(B, 30, dtype=torch.float64, requires_grad=True)
    value = soft_penalty(w, scale_gradient(f, y, loss))
    (gradient,) = torch.autograd.grad(value.sum(), w)
    for b in range(B):
        scale = torch.ones((), dtype=torch.float64, requires_grad=True)
        if loss == "squared":
            losses = (scale * f[b] - y[b]) ** 2
        else:
            target = (y[b] > 0).double()
            losses = nn.functional.binary_cross_entropy_with_logits(
                scale * f[b], target, reduction="none"
            )
        q = torch.sigmoid(w[b])
        slopes = [
            torch.autograd.grad((share * losses).mean(), scale, create_graph=True)[0]
            for share in (q, 1 - q)
        ]
        expected = (slopes[0] ** 2 + slopes[1] ** 2) / 2
        torch.testing.assert_close(value[b], expected)
        torch.testing.assert_close(gradient[b], torch.autograd.grad(expected, w)[0][b])


@pytest.mark.parametrize("steps_and_rate", [(10_000, 1e-3), (1_000, 1e-2)])
def test_the_split_is_the_best_of_all(steps_and_rate: tuple[int, float]) -> None:
    steps, rate = steps_and_rate
    n = 9
    f, y = outputs(n)
    gradient = scale_gradient(f, y, "squared").float()
    split = infer_environments(gradient, range(B), steps=steps, rate=rate)
    # 2^n hard splits, by assignments that saturate the sigmoid
    corners = torch.tensor(list(product([-50.0, 50.0], repeat=n)))
    for b in range(B):
        values = soft_penalty(corners, gradient[b].expand_as(corners))
        own = soft_penalty(100 * (0.5 - split[[b]].float()), gradient[[b]])
        torch.testing.assert_close(own[0], values.max())


def planted(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Labels, a reference that is an attribute alone, and where the attribute is right."""
    y = torch.sign(torch.randn(B, n))
    agrees = torch.rand(B, n) < 0.8
    return y, 0.6 * torch.where(agrees, y, -y), agrees


@pytest.mark.parametrize("loss", LOSSES)
def test_a_planted_split_is_found(loss: PointLoss) -> None:
    y, reference, agrees = planted(500)
    split = infer_environments(scale_gradient(reference, y, loss), range(B), steps=1_000, rate=1e-2)
    assert split.dtype == torch.int64
    for b in range(B):
        # which of the two is called 0 is left to chance
        same = split[b] == agrees[b].long()
        assert bool(same.all()) or not bool(same.any())


def test_the_start_is_the_seeds_own() -> None:
    y, reference, _ = planted(200)
    gradient = scale_gradient(reference, y, "squared")
    # no step: the split is the sign of the random start
    starts = infer_environments(gradient, [4, 5, 6], steps=0, rate=1e-2)
    assert len({tuple(row) for row in starts.tolist()}) == B
    assert 0.3 < float(starts.double().mean()) < 0.7
    for options in ({"steps": 0}, {"steps": 200}):
        together = infer_environments(gradient, [4, 5, 6], rate=1e-2, **options)
        for b, seed in enumerate([4, 5, 6]):
            alone = infer_environments(gradient[[b]], [seed], rate=1e-2, **options)
            assert torch.equal(together[b], alone[0])


SEEDS, D = [4, 9, 6], 4


@pytest.mark.parametrize(("weight", "anneal", "decay"), [(1.0, 0, 0.0), (200.0, 10, 0.3)])
@pytest.mark.parametrize("loss", LOSSES)
def test_invariant_training_on_what_the_reference_split(
    draw_samples: Callable[..., Samples], loss: PointLoss, weight: float, anneal: int, decay: float
) -> None:
    samples, mlp = draw_samples(seeds=SEEDS, n=60, d=D), init_mlp(SEEDS, (D, 16, 1))
    x, y = samples.x, samples.y
    invariant = {
        "loss": loss, "weight": weight, "anneal": anneal, "steps": 30, "learning_rate": 1e-2,
        "weight_decay": decay,
    }  # fmt: skip
    options = EIIL(**invariant, reference_steps=15, inference_steps=300, inference_rate=0.03)
    (found,) = train_eiil(samples, mlp, options, [15])
    reference = mlp.trainable_copy()
    optimiser = torch.optim.Adam(reference.parameters(), lr=1e-2)
    for _ in range(15):
        optimiser.zero_grad()
        risks = point_loss(reference(x), y, loss).mean(-1).sum()
        (risks + decay * sum(p.norm() ** 2 for p in reference.parameters())).backward()
        optimiser.step()
    reference = reference.frozen()
    environment = infer_environments(
        scale_gradient(reference(x), y, loss), SEEDS, steps=300, rate=0.03
    )
    if loss == "logistic":  # those that the reference gets right, and the others
        right = (reference(x) > 0) == (y > 0)
        same = (environment == right.long()).double().mean(-1)
        assert bool(((same == 0) | (same == 1)).all())
    labelled = replace(samples, environment=environment)
    (expected,) = train_irmv1(labelled, mlp, IRM(**invariant), [30])
    torch.testing.assert_close(found(x), expected(x), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_validation_points_are_split_where_the_reference_varies_most(
    draw_samples: Callable[..., Samples], loss: PointLoss
) -> None:
    """By hand: the corner of the objective, which is where all g_i of an environment agree."""
    samples, mlp = draw_samples(seeds=SEEDS, n=60, m=50, d=D), init_mlp(SEEDS, (D, 16, 1))
    options = EIIL(loss=loss, reference_steps=15, inference_steps=2000, inference_rate=0.05,
                   steps=3, learning_rate=1e-2)  # fmt: skip
    early, last = train_eiil(samples, mlp, options, [2, 15])
    assert last.memberships.dtype == torch.float32
    assert not torch.equal(early.memberships, last.memberships)
    assert torch.equal(last.memberships.sum(1), torch.ones(B, 60 + 50))
    held_out = last.memberships[..., 60:]
    reference = train(
        mlp, samples.x, lambda f, r: point_loss(f, samples.y[r], loss).mean(-1),
        steps=15, learning_rate=1e-2,
    )  # fmt: skip
    gradient = scale_gradient(reference(samples.x_validation), samples.y_validation, loss)
    clear = gradient.abs() > 0.05 * gradient.abs().amax(-1, keepdim=True)
    for b in range(B):
        environments = held_out[b][:, clear[b]] == 1
        up = gradient[b][clear[b]] > 0
        assert 0 < int(up.sum()) < len(up)
        assert any(torch.equal(environment, up) for environment in environments)


def test_it_turns_away_from_an_attribute_without_labels() -> None:
    def draw(rate: float, n: int) -> tuple[Tensor, Tensor]:
        y = torch.sign(torch.randn(B, n))
        agrees = torch.rand(B, n) < rate
        return torch.stack([y + 1.5 * torch.randn(B, n), torch.where(agrees, y, -y)], -1), y

    (x, y), (x_test, y_test) = draw(0.85, 800), draw(0.1, 500)
    mlp = init_mlp(range(B), (2, 32, 1))
    options = EIIL(
        loss="logistic", reference_steps=60, inference_steps=500, inference_rate=0.02,
        weight=1e3, anneal=30, steps=200, learning_rate=1e-2,
    )  # fmt: skip
    samples = Samples(x, y, x, y, None, range(B), "classification")
    (network,) = train_eiil(samples, mlp, options, [60])
    erm = train(mlp, x, lambda f, r: point_loss(f, y[r], "logistic").mean(-1),
                steps=200, learning_rate=1e-2)  # fmt: skip
    hits = [((net(x_test) > 0) == (y_test > 0)).double().mean(-1) for net in (erm, network)]
    assert bool((hits[1] > hits[0] + 0.3).all())


def test_the_logistic_loss_is_for_labels(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples("regression", SEEDS, d=D)
    with pytest.raises(KerhrmError, match="logistic"):
        train_eiil(samples, init_mlp(SEEDS, (D, 16, 1)), EIIL(loss="logistic"), [50])
