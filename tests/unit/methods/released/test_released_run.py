"""The authors' code as a whole: what its clustering is given, drops and refuses."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from refusals import refusal
from torch import Tensor
from torch.nn.functional import one_hot
from torch.testing import assert_close

from kerhrm.algorithm.starts import random_starts
from kerhrm.algorithm.variant import orthogonal_update
from kerhrm.methods import released
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.released import (
    train_released,
)
from tests.unit.methods.released.settings import K_MAX, SEED, K, N, members, options


class Spy:
    """In place of M_c: returns fixed memberships."""

    def __init__(self, answer: Tensor) -> None:
        self.answer = answer
        self.given: list[tuple[Tensor, Tensor, Tensor]] = []

    def __call__(self, psi: Tensor, y: Tensor, start: Tensor, *_: Any) -> Tensor:
        self.given.append((psi, y, start))
        return self.answer


def theta_of(inputs: Inputs, **changes: Any) -> Tensor:
    fit = train_released(inputs, options(**changes))
    return fit.directions["model"]


def test_what_the_clustering_is_given(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = inputs.require_problem()
    spy = Spy(members(2))
    monkeypatch.setattr(released, "assign", spy)
    first_theta = theta_of(inputs, n_iterations=1)[:K]
    second_theta = theta_of(inputs, n_iterations=2)[:K]
    spy.given.clear()
    theta_of(inputs, n_iterations=3)
    first, second, third = spy.given

    psi = problem.psi_train[:, :K]
    starts = random_starts(SEED, 1, N, 2, "released", "t=1")
    without_first = orthogonal_update(psi, first_theta)
    without_second = orthogonal_update(psi, second_theta)
    for given, variant, start in (
        (first, psi, starts[0]),
        (second, without_first, spy.answer),
        (third, without_second, spy.answer),
    ):
        given_psi, given_y, given_start = given
        assert torch.equal(given_psi, variant)
        assert torch.equal(given_y, problem.target)
        assert torch.equal(given_start, start)


@pytest.mark.parametrize("target", ["residual", "label"])
def test_clusters_explain_the_label_or_the_residual(
    inputs: Inputs, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = inputs.require_problem()
    spy = Spy(members(2))
    monkeypatch.setattr(released, "assign", spy)
    theta_of(inputs, n_iterations=1, clustering_target=target)
    offset = problem.f0_train if target == "residual" else 0
    ((_, given, _),) = spy.given
    assert_close(given, problem.y - offset)


def test_clusters_beyond_the_second_are_dropped(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = inputs.require_problem()
    for cluster in (2, 1):
        three = members(3)
        monkeypatch.setattr(released, "assign", Spy(three))
        in_cluster = three[:, cluster] > 0
        y = torch.where(in_cluster, -problem.y, problem.y)
        flipped_problem = replace(problem, y=y)
        flipped = replace(inputs, problem=flipped_problem)
        theta = theta_of(inputs, n_environments=3)
        theta_of_flipped = theta_of(flipped, n_environments=3)
        is_dropped = cluster == 2
        assert torch.equal(theta, theta_of_flipped) == is_dropped


def test_only_the_first_columns_and_the_seed_count(inputs: Inputs) -> None:
    problem = inputs.require_problem()
    expected = theta_of(inputs)
    assert expected.shape == (K_MAX,)
    assert expected[:K].any()
    assert not expected[K:].any()
    u = problem.u.clone()
    u[:, K:] = 100.0
    other_columns = replace(problem, u=u)
    changed_columns = replace(inputs, problem=other_columns)
    assert torch.equal(theta_of(changed_columns), expected)
    other_seed = replace(problem, seed=5)
    changed_seed = replace(inputs, problem=other_seed)
    assert not torch.equal(theta_of(changed_seed), expected)


def test_errors(inputs: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    for changes, message in (
        ({"k": 7}, "from 2 to the 6 reduced features; got 7"),
        ({"k": 7, "n_iterations": 1}, "from 1 to the 6 reduced features; got 7"),
        ({"k": 1}, "from 2 to the 6 reduced features; got 1"),
        ({"n_environments": 81}, "exceeds n=80"),
    ):
        with refusal(message):
            theta_of(inputs, **changes)
    third = torch.full((N,), 2)
    nobody_in_the_first_two = one_hot(third, 3).double()
    monkeypatch.setattr(released, "assign", Spy(nobody_in_the_first_two))
    with refusal("have no points"):
        theta_of(inputs, n_environments=3)
