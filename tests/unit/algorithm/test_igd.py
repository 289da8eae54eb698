"""Invariant gradient descent: its cosine, and where it leads."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import cosine_similarity
from torch.testing import assert_close

from kerhrm.algorithm.igd import (
    SMOOTHING,
    cosine_to_direction,
    train_igd,
)
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Direction
from kerhrm.features.map import NTFMap
from kerhrm.networks.base import Network
from kerhrm.networks.build import (
    MLP,
    init_mlp,
)
from kerhrm.networks.training import train

N = 40
K = 3


def draw(seed: int = 0) -> tuple[Tensor, Tensor]:
    """g and theta."""
    rng = np.random.default_rng(seed)
    draws = rng.standard_normal((2, K))
    g, theta = torch.from_numpy(draws)
    return g, theta


@given(
    seed=st.integers(0, 10**6),
    smoothing=st.sampled_from([0.0, SMOOTHING, 1.0]),
)
def test_smoothing_shrinks_it_and_turns_nothing(seed: int, smoothing: float) -> None:
    g, theta = draw(seed)
    length = g.norm()
    reach = smoothing * theta.norm()
    plain = cosine_similarity(g, theta, dim=-1)
    expected = plain * length / torch.hypot(length, reach)
    got = cosine_to_direction(g, theta, smoothing=smoothing)
    assert_close(got, expected)
    # the unit of theta (and with it of g) does not matter
    in_unit = 1e3 * theta
    rescaled = cosine_to_direction(1e3 * g, in_unit, smoothing=smoothing)
    assert_close(rescaled, got)


def test_the_start_has_a_finite_gradient() -> None:
    _, theta = draw()
    g = torch.zeros(K).double().requires_grad_()
    cos = cosine_to_direction(g, theta, SMOOTHING)
    assert cos.item() == 0
    (gradient,) = torch.autograd.grad(cos, g)
    # d cos / d g = theta / (c |theta|^2)
    squared_length = (theta**2).sum()
    expected = theta / (SMOOTHING * squared_length)
    assert_close(gradient, expected)


class Task(NamedTuple):
    mlp: MLP
    x: Tensor
    problem: Problem
    theta: Tensor

    def igd(
        self, weight: float, cosine: Any = "signed", steps: int = 100, sign: int = 1
    ) -> MLP:
        signed_theta = sign * self.theta
        direction = Direction(signed_theta, K, 0.0, 0.0, 1)
        options = KerHRMOptions(cosine=cosine, steps=steps, tol=0)
        trained, _ = train_igd(
            self.mlp,
            self.x,
            self.problem,
            direction,
            weight,
            options,
        )
        return trained

    def change(self, trained: MLP) -> Tensor:
        """g_w."""
        outputs = trained(self.x).double()
        change = outputs - self.problem.f0_train
        return change @ self.problem.u / self.problem.s

    def cosine(self, trained: MLP) -> float:
        """True cosine, without smoothing."""
        g = self.change(trained)
        cosine = cosine_similarity(g, self.theta, dim=-1)
        return float(cosine)


@pytest.fixture(scope="module")
def task() -> Task:
    """A wide network (close to its linearisation) and a direction in its NTF space."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((N, 4))
    inputs = draws.astype(np.float32)
    x = torch.from_numpy(inputs)
    labels = rng.choice([-1.0, 1.0], N)
    y = torch.from_numpy(labels)
    mlp = init_mlp(0, (4, 512, 1))
    features = NTFMap.fit(mlp, x, K)
    problem = Problem.from_features(features, x, y, y, "classification", 0)
    theta = torch.tensor([0.03, -0.05, 0.08]).double()
    return Task(mlp, x, problem, theta)


def test_features_beyond_k_have_no_say(task: Task) -> None:
    options = KerHRMOptions(steps=20)
    is_used = torch.tensor([1, 1, 0])
    without_last = task.theta * is_used
    direction = Direction(without_last, 2, 0.0, 0.0, 1)
    mlp = task.mlp
    x = task.x
    whole, _ = train_igd(mlp, x, task.problem, direction, 10.0, options)
    u = task.problem.u[:, :2]
    s = task.problem.s[:2]
    problem = replace(task.problem, u=u, s=s)
    theta = direction.theta[:2]
    short = replace(direction, theta=theta)
    cut, _ = train_igd(mlp, x, problem, short, 10.0, options)
    outputs = cut(x)
    expected = whole(x)
    assert_close(outputs, expected, rtol=1e-3, atol=1e-4)


def test_a_smoothing_that_stays_draws_the_network_along_theta(task: Task) -> None:
    """The objective falls with the length of the change; that of the printed cosine
    does not."""
    with_printed = task.igd(10000.0, "signed", steps=200)
    with_smoothed = task.igd(10000.0, "smoothed", steps=200)
    printed_length = task.change(with_printed) @ task.theta
    smoothed_length = task.change(with_smoothed) @ task.theta
    assert smoothed_length > 1.1 * printed_length


def test_without_penalty_it_is_plain_training(task: Task) -> None:
    y = task.problem.y.float()

    def squared_error(f: Tensor, network: Network, step: int) -> Tensor:
        errors = f - y
        return (errors**2).mean()

    plain = train(
        task.mlp,
        task.x,
        squared_error,
        steps=20,
        learning_rate=1e-3,
    )
    trained = task.igd(0.0, steps=20)
    for name, weight in trained.weights.items():
        assert_close(weight, plain.weights[name])


def test_the_penalty_turns_the_network_along_theta(task: Task) -> None:
    cosines = []
    for weight in (0.0, 1.0, 100.0, 1000.0):
        trained = task.igd(weight)
        cosines.append(task.cosine(trained))
    assert cosines == sorted(cosines)
    assert cosines[0] < 0.9
    assert cosines[-1] > 0.99
    # and back, if theta asks for it
    opposite = task.igd(1000.0, sign=-1)
    assert task.cosine(opposite) < -0.99


def test_the_printed_form_rewards_the_opposite_direction(task: Task) -> None:
    # labels that lie against theta: the printed form goes with them, the signed one
    # does not
    problem = task.problem
    y = problem.f0_train - problem.psi_train @ task.theta
    problem = replace(problem, y=y)
    against = task._replace(problem=problem)
    with_printed = against.igd(0.5, "absolute")
    with_signed = against.igd(0.5)
    assert against.cosine(with_printed) < -0.99
    assert against.cosine(with_signed) > 0.5


def test_rounding_of_f0_decides_nothing(task: Task) -> None:
    """The printed |cos| has a kink where training starts: noise there would choose a
    direction."""
    trained = task.igd(10.0, "absolute", steps=20)
    exact = trained(task.x)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        draws = torch.from_numpy(rng.standard_normal(N))
        noise = 1e-7 * draws
        f0 = task.problem.f0_train + noise
        problem = replace(task.problem, f0_train=f0)
        disturbed = task._replace(problem=problem)
        trained = disturbed.igd(10.0, "absolute", steps=20)
        assert torch.equal(trained(task.x), exact)


class _Noisy(MLP):
    """Rounds otherwise where it is evaluated at fixed points, as kernels for images
    do."""

    noise = torch.zeros(N)

    def at(self, x: Tensor) -> Callable[[MLP], Tensor]:
        return lambda network: network(x) + self.noise


def test_rounding_of_the_training_outputs_decides_nothing(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way the training's outputs are rounded, f_0 is rounded likewise."""
    noisy = task._replace(mlp=_Noisy(task.mlp.weights))
    exact = task.igd(1000.0, "absolute", steps=20)
    along_theta = task.problem.psi_train @ task.theta
    for sign in (1, -1):
        noise = 1e-6 * sign * along_theta / along_theta.abs().max()
        monkeypatch.setattr(_Noisy, "noise", noise.float())
        trained = noisy.igd(1000.0, "absolute", steps=20)
        assert task.cosine(trained) == pytest.approx(task.cosine(exact), abs=1e-3)
