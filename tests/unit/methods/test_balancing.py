"""Balancing against repeated points and counted samples; groups by hand."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import lcm
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from kerhrm.methods.balancing import (
    BalancingOptions,
    balance,
    groups_of,
    train_balancing,
)
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.irm import PointLoss, point_loss
from kerhrm.networks.training import train

Draw = Callable[..., Inputs]
each_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])
QUICK = {
    "learning_rate": 1e-2,
    "identification_steps": 10,
    "steps": 25,
}


def erm(inputs: Inputs, points: Tensor, loss: PointLoss, steps: int) -> Tensor:
    """Outputs at all points of ERM on some, which may repeat."""
    x = inputs.x[points]
    y = inputs.y[points]

    def mean_loss(f: Tensor, *_: Any) -> Tensor:
        return point_loss(f, y, loss).mean()

    model = train(
        inputs.network,
        x,
        mean_loss,
        steps=steps,
        learning_rate=1e-2,
    )
    return model(inputs.x)


def groups_by_hand(inputs: Inputs, loss: PointLoss) -> list[Tensor]:
    """Numbers of the points of each group: wrong or not, of either label."""
    everything = torch.arange(len(inputs.y))
    outputs = erm(inputs, everything, loss, 10)
    wrong = torch.sign(outputs) != inputs.y
    groups = []
    for error in (False, True):
        for label in (-1, 1):
            is_member = wrong == error
            is_member &= inputs.y == label
            points = torch.nonzero(is_member).flatten()
            if len(points):
                groups.append(points)
    return groups


def outputs_of(inputs: Inputs, options: BalancingOptions) -> Tensor:
    """Outputs at the training points."""
    fitted = train_balancing(inputs, options)
    return fitted.predict(inputs.x)["model"]


@each_loss
def test_reweighted_groups_are_groups_repeated_to_one_size(
    draw: Draw, loss: PointLoss
) -> None:
    inputs = draw(n=40)
    groups = groups_by_hand(inputs, loss)
    sizes = [len(points) for points in groups]
    assert len(set(sizes)) > 1
    size = lcm(*sizes)
    copies = []
    for points in groups:
        times = size // len(points)
        copies.append(points.repeat(times))
    options = BalancingOptions(loss=loss, weight_decay=0.0, **QUICK)
    outputs = outputs_of(inputs, options)
    repeated = torch.cat(copies)
    expected = erm(inputs, repeated, loss, 25)
    assert_close(outputs, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("how", ["reweight", "subsample"])
@pytest.mark.parametrize("loss", ["squared"])
def test_groups_of_one_size_are_erm(draw: Draw, how: str, loss: PointLoss) -> None:
    inputs = draw(n=40)
    negative = torch.nonzero(inputs.y == -1).flatten()
    positive = torch.nonzero(inputs.y == 1).flatten()
    few = min(len(negative), len(positive))
    kept_of_each = [negative[:few], positive[:few]]
    kept = torch.cat(kept_of_each)
    x = inputs.x[kept]
    y = inputs.y[kept]
    inputs = replace(inputs, x=x, y=y)
    options = BalancingOptions(
        balance=how,
        groups="labels",
        loss=loss,
        weight_decay=0.0,
        **QUICK,
    )
    outputs = outputs_of(inputs, options)
    every_point = torch.arange(2 * few)
    expected = erm(inputs, every_point, loss, 25)
    assert_close(outputs, expected, rtol=1e-3, atol=1e-3)


some_groups = st.lists(st.integers(0, 3), min_size=1, max_size=60)


@given(
    groups=some_groups,
    seed=st.integers(0, 9),
)
def test_every_group_has_the_same_weight(groups: list[int], seed: int) -> None:
    labels = torch.tensor(groups)
    names = set(groups)
    sizes = [groups.count(name) for name in names]
    n_points = {
        "reweight": len(groups),
        "subsample": len(sizes) * min(sizes),
    }
    for how, count in n_points.items():
        sample = balance(labels, how, seed)
        points = sample.points.tolist()
        assert len(points) == count
        for first, second in pairwise(points):
            assert first < second
        for name in names:
            is_member = labels[sample.points] == name
            weights = sample.weights[is_member]
            share = float(weights.sum())
            expected = 1 / len(sizes)
            assert share == pytest.approx(expected)
    first = balance(labels, "subsample", seed).points
    again = balance(labels, "subsample", seed).points
    assert torch.equal(first, again)


def test_subsamples_draw_every_point_of_a_group_alike() -> None:
    """Of 6 and 3 points each of the 6 is drawn in half of the subsamples."""
    labels = torch.tensor([0] * 6 + [1] * 3)
    counts = torch.zeros(9)
    n_seeds = 400
    for seed in range(n_seeds):
        sample = balance(labels, "subsample", seed)
        counts[sample.points] += 1
    of_small_group = counts[6:]
    assert of_small_group.tolist() == [n_seeds] * 3
    # standard deviation .025 of a share
    shares = counts[:6] / n_seeds
    largest = (shares - 0.5).abs().max()
    assert largest < 0.1


def test_what_makes_groups() -> None:
    wrong = torch.tensor([0, 0, 1, 1])
    y = torch.tensor([-1.0, 1.0, -1.0, 1.0])
    both = groups_of(wrong, y, "environments_and_labels")
    assert len(both.unique()) == 4
    by_error = groups_of(wrong, y, "environments")
    assert torch.equal(by_error, wrong)
    groups = groups_of(wrong, y, "labels")
    assert groups.tolist() == [0, 1, 0, 1]


def test_points_have_no_order(draw: Draw) -> None:
    inputs = draw(n=60)
    generator = torch.Generator().manual_seed(0)
    order = torch.randperm(60, generator=generator)
    x = inputs.x[order]
    y = inputs.y[order]
    shuffled = replace(inputs, x=x, y=y)
    options = BalancingOptions(**QUICK)
    fitted = train_balancing(shuffled, options)
    outputs = fitted.predict(inputs.x)["model"]
    expected = outputs_of(inputs, options)
    assert_close(outputs, expected, rtol=1e-3, atol=1e-3)


def test_the_decay_is_a_part_of_the_objective(draw: Draw) -> None:
    """More of it, smaller weights."""
    inputs = draw(n=40)
    norms = []
    for weight_decay in (0.0, 1e-2, 1.0):
        options = BalancingOptions(weight_decay=weight_decay, **QUICK)
        network = train_balancing(inputs, options).networks["model"]
        total = 0.0
        for weight in network.weights.values():
            total += float((weight**2).sum())
        norms.append(total)
    assert norms == sorted(norms, reverse=True)
