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
from kerhrm.heterogeneity.result import HeterogeneityResult
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
    null = np.zeros(19)
    return HeterogeneityResult(0.0, null, p_value, detected)


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
    direction = fitted.directions["linear"]
    assert torch.equal(direction, final.theta)
    winner = directions[0].winner(1)
    first = fitted.directions["first"]
    assert torch.equal(first, winner.theta)
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
    expected = trained.network(inputs.x)
    assert torch.equal(outputs, expected)
    chosen = {
        "k": final.k,
        "alpha": final.alpha,
        "iteration": final.iteration,
        "cosine_weight": trained.cosine_weight,
    }
    assert fitted.chosen == chosen
    # every point's memberships of each clustering add up to one, degenerate ones left
    # out
    assert fitted.environments is not None
    n_points = 60 + 25
    n_clusters = 2 * (2 + 1)
    assert fitted.environments.shape == (n_points, n_clusters)
    degenerate = torch.cat([e.degenerate for e in environments])
    count = int((~degenerate).sum()) or len(degenerate)
    total = fitted.environments.sum(1)
    expected = torch.full((n_points,), float(count))
    assert_close(total, expected)


def test_without_environments_it_is_erm(draw: Draw) -> None:
    inputs = quick("regression", draw)
    problem = inputs.require_problem()
    pretest = HeterogeneityOptions()
    options = QUICK.model_copy(update={"pretest": pretest})
    undetected = result(0.6, False)
    none = replace(inputs, heterogeneity=undetected)
    fitted = train_kerhrm(none, options)
    expected = erm_direction(problem, options.k)
    for name in ("linear", "first"):
        direction = fitted.directions[name]
        assert torch.equal(direction, expected.theta)
    plain = ERMOptions(
        steps=20,
        learning_rate=options.learning_rate,
        evaluate_every=5,
    )
    erm = train_erm(inputs, plain)
    outputs = fitted.networks["network"](inputs.x)
    outputs_of_erm = erm.networks["model"](inputs.x)
    assert_close(outputs, outputs_of_erm)  # the cosine's term is there, with weight 0
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
        tested = replace(inputs, heterogeneity=given)
        fitted = train_kerhrm(tested, told)
        assert torch.equal(fitted.directions["linear"], usual)


def test_the_pretest_runs_on_regressions_alone(draw: Draw) -> None:
    options = QUICK.model_copy(
        update={"pretest": HeterogeneityOptions(), "n_iterations": 1}
    )
    is_tested = {"regression": True, "classification": False}
    for task, tested in is_tested.items():
        inputs = draw(task, n=100, k=K)
        fitted = train_kerhrm(inputs, options)
        assert ("p_value" in fitted.chosen) == tested
