"""Algorithm 1: the loop against its two steps, in memory and through files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.exploration import explore, learn_environments
from kerhrm.algorithm.loop import Fit, fit, iterate
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import IGD, Clustering, Invariance, KerHRM
from kerhrm.algorithm.pose import pose
from kerhrm.algorithm.prediction import FinalDirection, finish
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.data.registry import generate
from kerhrm.errors import KerhrmError
from kerhrm.features.extract import extract
from kerhrm.features.map import NTFMap
from kerhrm.methods.true_environments.train import train_true_environments
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.storage.records import Record

B, N, M, K_MAX = 3, 80, 30, 5
OPTIONS = KerHRM(
    k=[2, 5], iterations=3, clustering=Clustering(restarts=3), invariance=Invariance(alpha=[0, 1])
)


def random_problem(seeds: list[int], data: int = 0) -> Problem:
    """Labels that depend on two rules; replicate b is drawn by ``data`` and seeds[b]."""
    parts: list[list[np.ndarray]] = []
    for seed in seeds:
        rng = np.random.default_rng([data, seed])
        psi, psi_v = (rng.standard_normal((n, K_MAX)) * np.geomspace(2, 0.5, K_MAX) for n in (N, M))
        rule = [np.where(rng.random(len(p)) < 0.6, p[:, 1], -p[:, 1]) for p in (psi, psi_v)]
        y, y_v = (np.sign(p[:, 0] + r) for p, r in zip((psi, psi_v), rule, strict=True))
        f0, f0_v = 0.1 * rng.standard_normal(N), 0.1 * rng.standard_normal(M)
        parts.append([psi, np.ones(K_MAX), psi_v, f0, f0_v, y, y_v])
    arrays = (torch.from_numpy(np.stack(a)) for a in zip(*parts, strict=True))
    return Problem(*arrays, "classification", seeds)


def same(left: Record, right: Record) -> None:
    for name in left.names():
        assert torch.equal(getattr(left, name), getattr(right, name)), name


@pytest.fixture(scope="module")
def problem() -> Problem:
    return random_problem([4, 101, 7])


@pytest.fixture(scope="module")
def fitted(problem: Problem) -> Fit:
    return fit(problem, OPTIONS)


def test_the_loop_is_its_two_steps_by_turns(problem: Problem, fitted: Fit) -> None:
    k = torch.tensor([OPTIONS.k] * B)
    learned: list[Environments] = []
    history: list[Directions] = []
    for t in (1, 2, 3):
        thetas = []
        if history:
            rows = torch.arange(B)
            chosen = history[-1].chosen
            k, thetas = history[-1].k[rows, chosen].unsqueeze(1), [history[-1].theta[rows, chosen]]
        learned.append(explore(problem, k, OPTIONS.clustering, iteration=t, thetas=thetas))
        history.append(learn_directions(problem, learned, OPTIONS.invariance))
    for got, expected in zip(fitted.learned, learned, strict=True):
        same(got, expected)
    for direction, by_hand in zip(fitted.history, history, strict=True):
        same(direction, by_hand)
    same(fitted.final, finish(problem, learned, history))
    # the iterations differ, or this would not tell one from another
    assert not torch.equal(learned[1].held_out, learned[2].held_out)


def test_steps_through_files_agree_bit_for_bit(
    problem: Problem, fitted: Fit, tmp_path: Path
) -> None:
    problem.save(tmp_path / "training.npz")
    for t in (1, 2, 3):
        again = Problem.load(tmp_path / "training.npz")
        last = Directions.load(tmp_path / f"theta{t - 1}.npz") if t > 1 else None
        options = OPTIONS if t == 1 else KerHRM(clustering=OPTIONS.clustering)  # k is the winner's
        learn_environments(again, options, t, last).save(tmp_path / f"environments{t}.npz")
        learned = Environments.load_all(tmp_path / f"environments{s}.npz" for s in range(1, t + 1))
        learn_directions(again, learned, OPTIONS.invariance).save(tmp_path / f"theta{t}.npz")
    history = Directions.load_all(tmp_path / f"theta{t}.npz" for t in (1, 2, 3))
    for got, expected in zip(learned, fitted.learned, strict=True):
        same(got, expected)
    for direction, expected_direction in zip(history, fitted.history, strict=True):
        same(direction, expected_direction)
    final = finish(again, learned, history)
    final.save(tmp_path / "direction.npz")
    same(FinalDirection.load(tmp_path / "direction.npz"), fitted.final)


def test_fewer_iterations_are_the_first_ones(problem: Problem, fitted: Fit) -> None:
    steps = iterate(problem, OPTIONS)
    for t in range(2):
        environments, directions = next(steps)  # one at a time, and no more than asked for
        same(environments, fitted.learned[t])
        same(directions, fitted.history[t])
    static = fit(problem, OPTIONS.model_copy(update={"iterations": 1})).final
    assert torch.equal(static.theta, fitted.history[0].winner.theta)
    assert static.iteration.tolist() == [1] * B


def test_more_dimensions_than_features_are_refused(problem: Problem) -> None:
    with pytest.raises(KerhrmError, match="k=9 exceeds the 5 reduced features; lower k"):
        fit(problem, KerHRM(k=[2, 9]))


@settings(max_examples=8)
@given(data=st.integers(0, 10**6), others=st.lists(st.integers(0, 100), min_size=1, max_size=2))
def test_a_seed_gives_the_same_at_any_row(data: int, others: list[int]) -> None:
    options = OPTIONS.model_copy(update={"iterations": 2})
    alone = fit(random_problem([101], data), options)
    for seeds in ([101, *others], [*others, 101]):
        row = seeds.index(101)
        among = fit(random_problem(seeds, data), options)
        for left, right in zip(
            (*alone.learned, *alone.history, alone.final),
            (*among.learned, *among.history, among.final),
            strict=True,
        ):
            for name in left.names():
                got, expected = getattr(right, name)[row], getattr(left, name)[0]
                torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-8)


def test_other_numbers_are_other_starts(problem: Problem, fitted: Fit) -> None:
    environments = learn_environments(replace(problem, seeds=[0, 101, 7]), OPTIONS, 1, None)
    assert not torch.equal(environments.train[0], fitted.learned[0].train[0])
    assert torch.equal(environments.train[1:], fitted.learned[0].train[1:])


@pytest.mark.parametrize(
    "network",
    [NetworkOptions(widths=[32]), NetworkOptions(module="factories:mlp")],
    ids=["mlp", "module"],
)
def test_from_points_to_predictions_of_new_ones(network: NetworkOptions) -> None:
    seeds = [0, 101]
    sizes = {"n_train_per_environment": 60, "n_validation_per_environment": 30, "n_test": 40}
    data = generate({"generator": "classification", "r2": 0.8, **sizes}, seeds)
    x, x_v, x_new = (torch.from_numpy(s.x) for s in (data.train, data.validation, data.test))
    y, y_v = (torch.from_numpy(s.y).double() for s in (data.train, data.validation))
    w0 = build(network, seeds, x.shape[-1])
    features = NTFMap.fit(w0, x, 4)
    psi_v, f0_v = features.transform(x_v)
    problem = Problem(
        features.reduction.u, features.reduction.s, psi_v, features.f0, f0_v, y, y_v,
        "classification", seeds,
    )  # fmt: skip
    parts = (extract(w0, points) for points in (x, x_v, x_new))
    posed, test = pose(*parts, y, y_v, k=4, task="classification", seeds=seeds)
    same(posed, problem)
    assert (posed.task, posed.seeds) == (problem.task, problem.seeds)
    result = fit(problem, KerHRM(k=[2, 4], iterations=2))
    psi, f0 = features.transform(x_new)
    same(test, type(test)(psi, f0))
    outputs = result.final.predict(psi, f0)
    expected = f0 + torch.einsum("bmk,bk->bm", psi, result.final.theta)
    torch.testing.assert_close(outputs, expected)
    options = IGD(penalty=[1.0, 10.0], steps=3)
    predictions, chosen, networks = train_networks(
        w0, problem, x, x_v, x_new, result.final, result.learned, options
    )
    for b, c in enumerate(chosen.tolist()):
        got = networks(x_new)[b]
        torch.testing.assert_close(got, predictions.test[b, c], rtol=1e-4, atol=1e-5)


def test_features_in_single_precision_serve_every_step(problem: Problem, fitted: Fit) -> None:
    """As landmarks leave them: solves stay in double precision, so little is lost."""
    single = replace(problem, **{n: getattr(problem, n).float() for n in problem.names()})
    found = fit(single, OPTIONS)
    for got, expected in zip(found.learned, fitted.learned, strict=True):
        assert got.train.dtype == torch.float64
        torch.testing.assert_close(got.train, expected.train, rtol=0, atol=1e-2)
    assert found.final.theta.dtype == torch.float64
    torch.testing.assert_close(found.final.theta, fitted.final.theta, rtol=1e-2, atol=1e-3)
    labels = torch.randint(2, (B, N)), torch.randint(2, (B, M))
    options = OPTIONS.model_copy(update={"invariance": Invariance(alpha=[1.0])})
    got, expected = (train_true_environments(p, options, labels) for p in (single, problem))
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)
