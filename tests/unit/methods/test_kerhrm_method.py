"""KerHRM in one call: its outputs are those of the steps, bit for bit."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import erm_direction, learn_directions
from kerhrm.algorithm.loop import select_iteration
from kerhrm.algorithm.options import HeterogeneityOptions, KerHRMOptions
from kerhrm.heterogeneity.test import HeterogeneityResult
from kerhrm.methods.erm import ERMOptions, train_erm
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.kerhrm import train_kerhrm
from kerhrm.methods.options import AsPrintedOptions
from kerhrm.options import Task

K = 6
Draw = Callable[..., Inputs]
QUICK = KerHRMOptions(
    k=[3, K],
    alpha=[0.0, 10.0],
    cosine_weight=[1.0, 100.0],
    n_iterations=2,
    n_init=2,
    steps=20,
    check_every=5,
    pretest=None,
)


def result(p_value: float, detected: bool) -> HeterogeneityResult:
    return HeterogeneityResult(0.0, np.zeros(19), p_value, detected)


def quick(task: Task, draw: Draw) -> Inputs:
    return draw(task, n=60, noise=0.5, k=K, widths=(32,))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("printed", [False, True])
def test_outputs_are_those_of_the_steps(task: Task, printed: bool, draw: Draw) -> None:
    inputs = quick(task, draw)
    options = QUICK
    if printed:
        same = {
            "k": QUICK.k,
            "n_iterations": 2,
            "steps": 20,
            "cosine_weight": [1.0, 100.0],
        }
        options = AsPrintedOptions().model_copy(update=same)
    fitted = train_kerhrm(inputs, options)
    problem = inputs.require_problem()
    environments = []
    directions = []
    for t in (1, 2):
        environments.append(
            learn_environments(problem, options, t, environments, directions)
        )
        directions.append(learn_directions(problem, environments, options))
    final = select_iteration(problem, environments, directions, options)
    assert torch.equal(fitted.directions["linear"], final.theta)
    winner = directions[0].winner(1)
    assert torch.equal(fitted.directions["first"], winner.theta)
    trained = train_network(
        inputs.network,
        inputs.x,
        inputs.x_validation,
        problem,
        final,
        environments,
        options,
    )
    outputs = fitted.networks["network"](inputs.x)
    assert torch.equal(outputs, trained.network(inputs.x))
    chosen = {"k": final.k, "alpha": final.alpha, "iteration": final.iteration}
    assert fitted.chosen == chosen | {"cosine_weight": trained.cosine_weight}
    # every point's memberships of each clustering add up to one, degenerate ones left
    # out
    assert fitted.environments is not None
    assert fitted.environments.shape == (60 + 25, 2 * (2 + 1))
    degenerate = torch.cat([e.degenerate for e in environments])
    count = int((~degenerate).sum()) or len(degenerate)
    total = fitted.environments.sum(1)
    expected = torch.full((85,), float(count))
    assert_close(total, expected)


def test_without_environments_it_is_erm(draw: Draw) -> None:
    inputs = quick("regression", draw)
    problem = inputs.require_problem()
    options = QUICK.model_copy(update={"pretest": HeterogeneityOptions()})
    none = replace(inputs, heterogeneity=result(0.6, False))
    fitted = train_kerhrm(none, options)
    expected = erm_direction(problem, options.k)
    for name in ("linear", "first"):
        assert torch.equal(fitted.directions[name], expected.theta)
    plain = ERMOptions(steps=20, learning_rate=options.learning_rate, evaluate_every=5)
    outputs = [
        f.networks[n](inputs.x)
        for f, n in ((fitted, "network"), (train_erm(inputs, plain), "model"))
    ]
    assert_close(*outputs)  # the cosine's term is there, with weight 0
    assert fitted.environments is not None
    assert (fitted.environments == 1).all()
    assert fitted.chosen["iteration"] == 0
    assert fitted.chosen["p_value"] == 0.6
    # a test that detects, one that is impossible, and options without it change nothing
    usual = train_kerhrm(inputs, QUICK).directions["linear"]
    assert not torch.equal(usual, expected.theta)
    for given, told in (
        (result(0.05, True), options),
        (result(float("nan"), False), options),
        (result(0.6, False), QUICK),
    ):
        fitted = train_kerhrm(replace(inputs, heterogeneity=given), told)
        assert torch.equal(fitted.directions["linear"], usual)


def test_the_pretest_runs_on_regressions_alone(draw: Draw) -> None:
    options = QUICK.model_copy(
        update={"pretest": HeterogeneityOptions(), "n_iterations": 1}
    )
    for task, tested in (("regression", True), ("classification", False)):
        inputs = draw(task, n=100, k=K)
        assert ("p_value" in train_kerhrm(inputs, options).chosen) == tested
