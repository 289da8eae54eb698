"""KerHRM's network: one training per lambda, and the choice among them."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.algorithm import network
from kerhrm.algorithm.directions import learn_directions, yardstick
from kerhrm.algorithm.exploration import explore
from kerhrm.algorithm.network import train_igd, train_networks
from kerhrm.algorithm.options import IGD, Clustering, Invariance
from kerhrm.algorithm.pose import pose
from kerhrm.algorithm.prediction import FinalDirection, finish
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.algorithm.selection import point_scores, worst_environment_score
from kerhrm.data.predictions import Predictions
from kerhrm.data.registry import generate
from kerhrm.features.extract import extract
from kerhrm.networks import training
from kerhrm.networks.mlp import MLP, init_mlp

B = 3
OPTIONS = IGD(penalty=[0.0, 1.0, 300.0], steps=20, learning_rate=2e-3)


class Run(NamedTuple):
    """Everything that a network is trained from, and what came of it."""

    mlp: MLP
    problem: Problem
    points: tuple[Tensor, Tensor, Tensor]
    final: FinalDirection
    learned: list[Environments]
    predictions: Predictions
    chosen: Tensor
    networks: MLP


@pytest.fixture(scope="module")
def run() -> Run:
    sizes = {"n_train_per_environment": 75, "n_validation_per_environment": 50, "n_test": 60}
    data = generate({"generator": "classification", "r2": 0.8, **sizes}, range(B))
    points = tuple(torch.from_numpy(s.x) for s in (data.train, data.validation, data.test))
    mlp = init_mlp(range(B), (10, 64, 1))
    features = [extract(mlp, x) for x in points]
    labels = [torch.from_numpy(s.y).double() for s in (data.train, data.validation)]
    problem = pose(*features, *labels, k=8, task="classification", seeds=list(range(B)))[0]
    k = torch.tensor([[4, 8]] * B)
    learned = [explore(problem, k, Clustering(restarts=3), iteration=1)]
    history = [learn_directions(problem, learned, Invariance(alpha=[0.0, 1.0]))]
    final = finish(problem, learned, history)
    results = train_networks(mlp, problem, *points, final, learned, OPTIONS)
    return Run(mlp, problem, points, final, learned, *results)


def test_every_lambda_has_its_network(run: Run) -> None:
    problem = run.problem
    u = problem.u.clone()
    for b in range(B):
        u[b, :, int(run.final.k[b]) :] = 0
    for c, penalty in enumerate(OPTIONS.penalty):
        alone = train_igd(
            run.mlp,
            run.points[0],
            problem.y.float(),
            problem.f0_train.float(),
            u.float(),
            problem.s.float(),
            run.final.theta.float(),
            penalty=penalty,
            options=OPTIONS,
        )
        for name, x in zip(Predictions.names(), run.points, strict=True):
            got = getattr(run.predictions, name)
            assert got.shape == (B, len(OPTIONS.penalty), x.shape[1])
            torch.testing.assert_close(got[:, c], alone(x), rtol=1e-4, atol=1e-5)
    # lambda matters
    spread = run.predictions.train.diff(dim=1).abs().amax(-1)
    assert float(spread.min()) > 0.01


@pytest.mark.parametrize("check_every", [None, 5])
def test_all_lambdas_may_be_one_batch(
    run: Run, check_every: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU."""
    options = OPTIONS.model_copy(update={"check_every": check_every})
    given = run.mlp, run.problem, *run.points, run.final, run.learned, options
    expected, chosen, _ = train_networks(*given)
    for module in (network, training):
        monkeypatch.setattr(module, "networks_at_once", lambda device, n: n)
    batches = []
    plain = network.train_igd
    monkeypatch.setattr(
        network, "train_igd", lambda *a, **k: batches.append(len(a[1])) or plain(*a, **k)
    )
    found, same, networks = train_networks(*given)
    assert batches == [B * len(options.penalty)]
    assert torch.equal(chosen, same)
    for name, x in zip(Predictions.names(), run.points, strict=True):
        got = getattr(found, name)
        torch.testing.assert_close(got, getattr(expected, name), rtol=1e-4, atol=1e-4)
        picked = got[torch.arange(B), same]
        torch.testing.assert_close(networks(x), picked, rtol=1e-4, atol=1e-5)


def test_the_worst_learned_environment_decides(run: Run) -> None:
    y = run.problem.y_validation.numpy()
    for b in range(B):
        worst = []
        for outputs in run.predictions.validation[b].numpy():
            hits = (outputs > 0) == (y[b] > 0)
            memberships = run.learned[0].validation[b].numpy()  # (G, m, K)
            worst.append(
                min(np.average(hits, weights=r[:, j]) for r in memberships for j in range(2))
            )
        assert int(run.chosen[b]) == int(np.argmax(worst))


def test_pooled_validation_decides_where_it_is_the_rule(run: Run) -> None:
    given = run.final, run.learned, OPTIONS, "pooled"
    predictions, chosen, _ = train_networks(run.mlp, run.problem, *run.points, *given)
    hits = (predictions.validation > 0) == (run.problem.y_validation > 0).unsqueeze(1)
    assert chosen.tolist() == hits.double().mean(-1).argmax(-1).tolist()


def test_without_environments_it_is_erm_by_the_pooled_rule(run: Run) -> None:
    """A direction of no iteration, in one seed: no lambda counts there, and all do elsewhere."""
    iteration = torch.tensor([1, 0, 1])
    final = replace(run.final, iteration=iteration)
    options = OPTIONS.model_copy(update={"check_every": 5})
    given = run.mlp, run.problem, *run.points, final, run.learned
    predictions, chosen, _ = train_networks(*given, options)
    plain = train_networks(*given, options.model_copy(update={"penalty": [0.0]}))[0]
    for c in range(len(options.penalty)):
        torch.testing.assert_close(predictions.test[1, c], plain.test[1, 0], rtol=1e-4, atol=1e-5)
    assert int(chosen[1]) == 0
    # the step is that of the best pooled validation
    y = run.problem.y_validation[1] > 0
    ends = [
        train_networks(*given, OPTIONS.model_copy(update={"steps": s, "check_every": None}))[0]
        for s in (5, 10, 15, 20)
    ]
    hits = [float(((e.validation[1, 0] > 0) == y).double().mean()) for e in ends]
    best = ends[hits.index(max(hits))]
    torch.testing.assert_close(predictions.test[1, 0], best.test[1, 0], rtol=1e-4, atol=1e-5)
    usual = train_networks(run.mlp, run.problem, *run.points, run.final, run.learned, options)[0]
    for b in (0, 2):
        torch.testing.assert_close(predictions.test[b], usual.test[b], rtol=1e-4, atol=1e-5)


def test_the_chosen_networks_come_out(run: Run) -> None:
    for name, x in zip(Predictions.names(), run.points, strict=True):
        outputs = run.networks(x)
        for b, c in enumerate(run.chosen.tolist()):
            expected = getattr(run.predictions, name)[b, c]
            torch.testing.assert_close(outputs[b], expected, rtol=1e-4, atol=1e-5)
    # the choice differs between seeds, or this test would not see a mix-up of the axes
    assert len(set(run.chosen.tolist())) > 1


def test_equal_candidates_leave_the_first(run: Run) -> None:
    options = OPTIONS.model_copy(update={"penalty": [1.0, 1.0], "steps": 2})
    _, chosen, _ = train_networks(
        run.mlp, run.problem, *run.points, run.final, run.learned, options
    )
    assert chosen.tolist() == [0] * B


def test_the_form_of_the_cosine_is_passed_on(run: Run) -> None:
    opposite = replace(run.final, theta=-run.final.theta)
    for cosine, alike in (("absolute", True), ("signed", False)):
        options = OPTIONS.model_copy(update={"penalty": [300.0], "steps": 5, "cosine": cosine})
        outputs = [
            train_networks(run.mlp, run.problem, *run.points, direction, run.learned, options)[
                0
            ].train
            for direction in (run.final, opposite)
        ]
        assert torch.allclose(*outputs, rtol=1e-4, atol=1e-5) == alike


def test_the_rule_picks_the_step_where_it_looks_at_several(run: Run) -> None:
    """By hand: trainings of 5, 10, 15 and 20 steps, the best by the worst learned environment."""
    options = OPTIONS.model_copy(update={"check_every": 5})
    predictions, chosen, _ = train_networks(
        run.mlp, run.problem, *run.points, run.final, run.learned, options
    )
    lengths = [5, 10, 15, 20]
    ends = [
        train_networks(
            run.mlp, run.problem, *run.points, run.final, run.learned,
            OPTIONS.model_copy(update={"steps": steps}),
        )[0]
        for steps in lengths
    ]  # fmt: skip
    memberships, y = yardstick(run.learned), run.problem.y_validation.unsqueeze(1)
    scores = torch.stack(
        [
            worst_environment_score(point_scores(e.validation, y, "classification"), memberships)
            for e in ends
        ]
    )
    best = scores.argmax(0)  # (B, lambdas), the earliest among equals
    for b in range(B):
        for c in range(len(OPTIONS.penalty)):
            expected = ends[int(best[b, c])]
            torch.testing.assert_close(
                predictions.test[b, c], expected.test[b, c], rtol=1e-4, atol=1e-5
            )
    assert chosen.tolist() == scores.amax(0).argmax(-1).tolist()
    assert len(best.unique()) > 1
