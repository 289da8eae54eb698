"""Algorithm 1: the loop against its steps, in memory and through arrays."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from refusals import refusal
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.invariance import Selection, learn_directions, selection_score
from kerhrm.algorithm.loop import Fit, fit, select_iteration
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Direction, Directions, Environments
from kerhrm.features.map import NTFMap
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.record import Record

N = 80
M = 30
K_MAX = 5
OPTIONS = KerHRMOptions(
    k=[2, 5],
    n_iterations=3,
    n_init=3,
    alpha=[0, 1],
)


def random_problem(seed: int) -> Problem:
    """Labels that depend on two rules."""
    rng = np.random.default_rng(seed)
    scale = np.geomspace(2, 0.5, K_MAX)
    psi = rng.standard_normal((N, K_MAX)) * scale
    psi_v = rng.standard_normal((M, K_MAX)) * scale

    def labels(psi: np.ndarray) -> np.ndarray:
        follows = rng.random(len(psi)) < 0.6
        attribute = psi[:, 1]
        rule = np.where(follows, attribute, -attribute)
        return np.sign(psi[:, 0] + rule)

    y = labels(psi)
    y_v = labels(psi_v)
    f0 = 0.1 * rng.standard_normal(N)
    f0_v = 0.1 * rng.standard_normal(M)
    s = np.ones(K_MAX)
    arrays = (psi, s, psi_v, f0, f0_v, y, y_v)
    tensors = map(torch.from_numpy, arrays)
    return Problem(*tensors, "classification", seed)


def same(left: Record, right: Record) -> None:
    """Equal to the last bit."""
    expected = right.arrays()
    for name, array in left.arrays().items():
        assert_array_equal(array, expected[name], err_msg=name)


def through_arrays(record: Record) -> Record:
    """As after a file: values alone, one of several seeds of a stacked array."""
    arrays = {}
    for name, array in record.arrays().items():
        of_two_seeds = np.stack([array, array])
        arrays[name] = of_two_seeds[1]
    return type(record).from_arrays(arrays, "cpu")


@pytest.fixture(scope="module")
def problem() -> Problem:
    return random_problem(4)


@pytest.fixture(scope="module")
def fitted(problem: Problem) -> Fit:
    return fit(problem, OPTIONS)


def test_steps_through_arrays_are_the_loop_bit_for_bit(
    problem: Problem, fitted: Fit
) -> None:
    environments: list[Environments] = []
    directions: list[Directions] = []
    for t in (1, 2, 3):
        again = through_arrays(problem)
        found = learn_environments(again, OPTIONS, t, environments, directions)
        environments.append(through_arrays(found))
        learned = learn_directions(again, environments, OPTIONS)
        directions.append(through_arrays(learned))
    for got, expected in zip(environments, fitted.environments, strict=True):
        same(got, expected)
    for got, expected in zip(directions, fitted.directions, strict=True):
        same(got, expected)
    final = select_iteration(again, environments, directions, OPTIONS)
    same(final, fitted.final)
    same(through_arrays(final), final)
    assert isinstance(through_arrays(final), Direction)
    # the iterations differ, or this would not tell one from another
    _, second, third = environments
    assert not torch.equal(second.held_out, third.held_out)


def test_fewer_iterations_are_the_first_ones(problem: Problem, fitted: Fit) -> None:
    one_iteration = OPTIONS.model_copy(update={"n_iterations": 1})
    short = fit(problem, one_iteration)
    (environments,) = short.environments
    (directions,) = short.directions
    same(environments, fitted.environments[0])
    same(directions, fitted.directions[0])
    winner = fitted.directions[0].winner(1)
    assert short.final.score == pytest.approx(winner.score, rel=1e-12)
    same(replace(short.final, score=winner.score), winner)


@pytest.mark.parametrize(
    "network",
    [NetworkOptions(widths=[32]), NetworkOptions(module="factories:mlp")],
    ids=["mlp", "module"],
)
def test_from_points_to_predictions_of_new_ones(network: NetworkOptions) -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(120, 3, generator=draw)
    x_v = torch.randn(60, 3, generator=draw)
    x_new = torch.randn(40, 3, generator=draw)

    def labels(x: Tensor) -> Tensor:
        total = x[:, 0] + x[:, 1]
        signs = torch.where(total > 0, 1.0, -1.0)
        return signs.double()

    y = labels(x)
    y_v = labels(x_v)
    w0 = build(network, 101, 3)
    features = NTFMap.fit(w0, x, 4)
    problem = Problem.from_features(features, x_v, y, y_v, "classification", 101)
    psi_v, _ = features.transform(x_v)
    assert torch.equal(problem.psi_validation, psi_v)
    options = KerHRMOptions(
        k=[2, 4],
        n_iterations=2,
        n_init=2,
        cosine_weight=[1, 10],
        steps=3,
    )
    result = fit(problem, options)
    psi, f0 = features.transform(x_new)
    final = result.final
    expected = f0 + psi @ final.theta
    assert_close(final.predict(psi, f0), expected)
    environments = result.environments
    trained = train_network(w0, x, x_v, problem, final, environments, options)
    assert trained.network(x_new).shape == (40,)
    assert trained.cosine_weight in options.cosine_weight


def test_features_in_single_precision_serve_every_step(
    problem: Problem, fitted: Fit
) -> None:
    """As landmarks leave them: solves stay in double precision, so little is lost."""
    names = ("u", "s", "psi_validation", "f0_train", "f0_validation")
    in_single = {}
    for name in names:
        in_single[name] = getattr(problem, name).float()
    single = replace(problem, **in_single)
    found = fit(single, OPTIONS)
    pairs = zip(found.environments, fitted.environments, strict=True)
    for got, expected in pairs:
        assert got.train.dtype == torch.float64
        assert_close(got.train, expected.train, rtol=0, atol=1e-2)
    assert found.final.theta.dtype == torch.float64
    theta = found.final.theta
    expected_theta = fitted.final.theta
    assert_close(theta, expected_theta, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("projection", ["newest", "all"])
@pytest.mark.parametrize("k", [1, 2])
def test_it_ends_where_no_feature_is_left(
    problem: Problem, k: int, projection: str
) -> None:
    """A clustering has k - 1 dimensions, however many directions are taken out one
    after another."""
    update = {"k": [k], "projection": projection}
    options = OPTIONS.model_copy(update=update)
    found = fit(problem, options)
    length = 1 if k == 1 else OPTIONS.n_iterations
    assert len(found.directions) == length
    assert len(found.environments) == length
    environments: list[Environments] = []
    directions: list[Directions] = []
    for t in range(1, OPTIONS.n_iterations + 1):
        if t > length:
            with refusal("zero"):
                learn_environments(problem, options, t, environments, directions)
            break
        learned = learn_environments(problem, options, t, environments, directions)
        environments.append(learned)
        directions.append(learn_directions(problem, environments, options))
    final = select_iteration(problem, environments, directions, options)
    same(found.final, final)
    if k == 1:
        one_iteration = options.model_copy(update={"n_iterations": 1})
        alone = fit(problem, one_iteration)
        same(found.final, alone.final)


@pytest.mark.parametrize("final", ["best", "last"])
@pytest.mark.parametrize("rule", ["worst_inferred", "pooled"])
def test_scores_of_iterations_are_those_that_choose(
    problem: Problem, rule: Selection, final: str
) -> None:
    options = OPTIONS.model_copy(update={"stop_by": rule, "final": final})
    found = fit(problem, options)
    thetas = [d.theta[d.chosen] for d in found.directions]
    of_all = selection_score(problem, torch.stack(thetas), found.environments, rule)
    rows = found.history(problem)
    scores = [row["score"] for row in rows]
    assert scores == of_all.tolist()
    best = scores.index(max(scores)) if final == "best" else len(scores) - 1
    assert [row["chosen"] for row in rows] == [t == best for t in range(len(rows))]
    assert found.final.iteration == rows[best]["iteration"]
    assert found.final.score == scores[best]


def test_an_iteration_s_own_score_knows_of_earlier_environments_alone() -> None:
    """Later environments can make it lower, never higher."""
    problem = random_problem(3)
    fitted = fit(problem, OPTIONS)
    scores = [row["score"] for row in fitted.history(problem)]
    at_that_time = [d.winner(t).score for t, d in enumerate(fitted.directions, 1)]
    pairs = list(zip(scores, at_that_time, strict=True))
    assert all(score <= before + 1e-12 for score, before in pairs)
    assert scores[-1] == pytest.approx(at_that_time[-1])
    assert scores != pytest.approx(at_that_time)
