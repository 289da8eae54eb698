"""Invariant gradient descent: its cosine, its two forms, and where it leads."""

import math
from typing import Literal, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cosine_similarity

from kerhrm.algorithm.network import (
    SMOOTHING,
    cosine_to_direction,
    train_igd,
    within,
)
from kerhrm.algorithm.options import IGD
from kerhrm.features.extract import extract
from kerhrm.features.reduction import reduce
from kerhrm.networks.mlp import MLP, init_mlp
from kerhrm.networks.training import train

B, N, K = 2, 40, 3


class Draw(NamedTuple):
    """Arguments of ``cosine_to_direction``."""

    g: Tensor
    theta: Tensor


def draw(seed: int = 0) -> Draw:
    rng = np.random.default_rng(seed)
    shapes = (B, K), (B, K)
    return Draw(*(torch.from_numpy(rng.standard_normal(shape)) for shape in shapes))


@given(seed=st.integers(0, 10**6))
def test_without_smoothing_it_is_the_cosine(seed: int) -> None:
    d = draw(seed)
    expected = cosine_similarity(d.g, d.theta, dim=-1)
    torch.testing.assert_close(cosine_to_direction(*d, smoothing=0), expected)
    nearly = cosine_to_direction(*d, smoothing=1e-6)
    torch.testing.assert_close(nearly, expected, rtol=1e-6, atol=1e-9)


@given(seed=st.integers(0, 10**6), smoothing=st.sampled_from([SMOOTHING, 1.0]))
def test_smoothing_shrinks_it_and_turns_nothing(seed: int, smoothing: float) -> None:
    d = draw(seed)
    length, reach = d.g.norm(dim=-1), smoothing * d.theta.norm(dim=-1)
    expected = cosine_similarity(d.g, d.theta, dim=-1) * length / torch.hypot(length, reach)
    got = cosine_to_direction(*d, smoothing=smoothing)
    torch.testing.assert_close(got, expected)
    # the unit of theta (and with it of g) does not matter
    scaled = Draw(1e3 * d.g, 1e3 * d.theta)
    torch.testing.assert_close(cosine_to_direction(*scaled, smoothing=smoothing), got)


def test_the_start_has_a_finite_gradient() -> None:
    d = draw()
    g = torch.zeros_like(d.g).requires_grad_()
    cos = cosine_to_direction(g, d.theta, SMOOTHING)
    assert cos.tolist() == [0] * B
    (gradient,) = torch.autograd.grad(cos.sum(), g)
    # d cos / d g = theta / (c |theta|^2)
    expected = d.theta / (SMOOTHING * (d.theta**2).sum(-1, keepdim=True))
    torch.testing.assert_close(gradient, expected)


def test_columns_beyond_k_are_zero() -> None:
    u = torch.randn(B, N, K)
    got = within(u, torch.tensor([1, 3]))
    for b, k in ((0, 1), (1, 3)):
        assert torch.equal(got[b, :, :k], u[b, :, :k])
        assert not bool(got[b, :, k:].any())


def test_coordinates_of_the_ntf_predictor_are_its_theta() -> None:
    u = torch.linalg.qr(torch.randn(B, N, K, dtype=torch.float64))[0]
    s = torch.tensor([[4.0, 2.0, 1.0]] * B, dtype=torch.float64)
    theta = torch.randn(B, K, dtype=torch.float64)
    theta[0, 2] = 0
    f0 = torch.randn(B, N, dtype=torch.float64)
    f = f0 + torch.einsum("bnk,bk->bn", u * s[:, None], theta)
    g = torch.einsum("bn,bnk->bk", f - f0, within(u, torch.tensor([2, 3]))) / s
    torch.testing.assert_close(g, theta)
    cosine = cosine_to_direction(g, theta, smoothing=0)
    torch.testing.assert_close(cosine, torch.ones(B, dtype=torch.float64))


class Task(NamedTuple):
    mlp: MLP
    x: Tensor
    y: Tensor
    f0: Tensor
    u: Tensor
    s: Tensor
    theta: Tensor

    def igd(
        self,
        penalty: float,
        cosine: Literal["signed", "absolute", "smoothed"] = "signed",
        steps: int = 100,
        theta: Tensor | None = None,
    ) -> MLP:
        mlp, x, y, f0, u, s, own = self
        return train_igd(
            mlp, x, y, f0, u, s, own if theta is None else theta,
            penalty=penalty, options=IGD(cosine=cosine, steps=steps, tolerance=0),
        )  # fmt: skip

    def cosine(self, trained: MLP) -> Tensor:
        """The true cosine, without smoothing."""
        g = torch.einsum("bn,bnk->bk", trained(self.x) - self.f0, self.u) / self.s
        return cosine_to_direction(g, self.theta, 0.0)


@pytest.fixture(scope="module")
def task() -> Task:
    """Two wide networks (close to their linearisation) and directions in their NTF space."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((B, N, 4)).astype(np.float32))
    y = torch.from_numpy(rng.choice([-1.0, 1.0], (B, N)).astype(np.float32))
    mlp = init_mlp(range(B), (4, 512, 1))
    ntf, f0 = extract(mlp, x)
    reduction = reduce(ntf.kernel(ntf), K)
    theta = torch.tensor([[0.03, -0.05, 0.08], [0.02, 0.1, 0.0]])
    u = within(reduction.u, torch.tensor([3, 2])).float()
    return Task(mlp, x, y, f0, u, reduction.s.float(), theta)


def test_a_smoothing_that_stays_draws_the_network_along_theta(task: Task) -> None:
    """The objective falls with the length of the change; that of the printed cosine does not."""

    def length(trained: MLP) -> Tensor:
        g = torch.einsum("bn,bnk->bk", trained(task.x) - task.f0, task.u) / task.s
        return (g * task.theta).sum(-1) / task.theta.square().sum(-1)

    usual, smoothed = (task.igd(1e4, kind, steps=200) for kind in ("signed", "smoothed"))
    assert bool((length(smoothed) > 1.1 * length(usual)).all())


def test_without_penalty_it_is_plain_training(task: Task) -> None:
    plain = train(
        task.mlp,
        task.x,
        lambda f, rows: ((f - task.y[rows]) ** 2).mean(-1),
        steps=20,
        learning_rate=1e-3,
    )
    for got, expected in zip(task.igd(0.0, steps=20).parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(got, expected)


def test_the_penalty_turns_the_network_along_theta(task: Task) -> None:
    assert float(task.cosine(task.igd(0.0)).max()) < 0.9
    assert float(task.cosine(task.igd(1000.0)).min()) > 0.99
    # and back, if theta asks for it
    assert float(task.cosine(task.igd(1000.0, theta=-task.theta)).max()) < -0.99


def test_more_penalty_is_more_cosine(task: Task) -> None:
    cosines = torch.stack([task.cosine(task.igd(penalty)) for penalty in (0.0, 1.0, 100.0)])
    assert bool((cosines.diff(dim=0) > 0).all())


def test_the_printed_form_cannot_tell_theta_from_its_opposite(task: Task) -> None:
    forward = task.igd(10.0, "absolute", steps=30)(task.x)
    backward = task.igd(10.0, "absolute", steps=30, theta=-task.theta)(task.x)
    torch.testing.assert_close(forward, backward)
    signed = [task.igd(10.0, steps=30, theta=t)(task.x) for t in (task.theta, -task.theta)]
    assert float((signed[0] - signed[1]).abs().max()) > 0.1


def test_the_printed_form_rewards_the_opposite_direction(task: Task) -> None:
    # labels that lie against theta: the printed form goes with them, the signed one does not
    along = torch.einsum("bnk,bk->bn", task.u * task.s[:, None], task.theta)
    against = task._replace(y=task.f0 - along)
    assert float(against.cosine(against.igd(0.5, "absolute")).max()) < -0.99
    assert float(against.cosine(against.igd(0.5)).min()) > 0.5


def test_a_network_does_not_notice_the_others(task: Task) -> None:
    together = task.igd(10.0, steps=20)(task.x)
    for b in range(B):
        mlp, *tensors = task
        one = mlp.take(slice(b, b + 1))
        alone = Task(one, *(t[[b]] for t in tensors))
        got = alone.igd(10.0, steps=20)(alone.x)[0]
        torch.testing.assert_close(got, together[b], rtol=1e-4, atol=1e-5)
    assert math.isfinite(float(together.sum()))
