"""The choice of a network that invariant gradient descent trains: of its cosine weight
and its step."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.loop import Fit, fit
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.features.map import NTFMap
from kerhrm.networks.base import Network
from kerhrm.networks.build import init_mlp

OPTIONS = KerHRMOptions(
    k=[4, 8],
    n_iterations=1,
    n_init=3,
    alpha=[0, 1],
    cosine_weight=[0.0, 1.0, 300.0],
    steps=20,
    learning_rate=2e-3,
    check_every=None,
)


class Run(NamedTuple):
    """Everything that a network is trained from."""

    network: Network
    x: Tensor
    x_validation: Tensor
    problem: Problem
    result: Fit

    def train(self, iteration: int = 1, **changes: Any) -> Any:
        options = OPTIONS.model_copy(update=changes)
        final = replace(self.result.final, iteration=iteration)
        return train_network(
            self.network,
            self.x,
            self.x_validation,
            self.problem,
            final,
            self.result.environments,
            options,
        )

    def hits(self, network: Network) -> Tensor:
        """Whether the sign of each output is the label."""
        outputs = network(self.x_validation)
        is_positive = self.problem.y_validation > 0
        return (outputs > 0) == is_positive

    def worst(self, network: Network) -> float:
        """Accuracy in the worst inferred environment, by NumPy."""
        hits = self.hits(network).numpy()
        (environments,) = self.result.environments
        degenerate = environments.degenerate
        keep = ~degenerate | degenerate.all()
        accuracies = []
        for r in environments.validation[keep].numpy():
            for j in (0, 1):
                weights = r[:, j]
                accuracy = np.average(hits, weights=weights)
                accuracies.append(accuracy)
        return min(accuracies)

    def pooled(self, network: Network) -> float:
        hits = self.hits(network)
        return float(hits.double().mean())


@pytest.fixture(scope="module", params=[0, 1, 2])
def run(request: pytest.FixtureRequest) -> Run:
    """A stable feature, and a spurious one that agrees with the label in 80 % of the
    rows."""
    draw = np.random.default_rng(request.param)
    points = []
    for n in (150, 100):
        y = draw.choice([-1.0, 1.0], n)
        agrees = draw.random(n) < 0.8
        spurious = np.where(agrees, y, -y)
        columns = np.stack([y, spurious], 1)
        scale = [1.5, 0.3]
        noise_in_columns = draw.standard_normal((n, 2)) * scale
        noise = draw.standard_normal((n, 4))
        x = np.hstack([columns + noise_in_columns, noise])
        inputs = torch.from_numpy(x).float()
        labels = torch.from_numpy(y)
        points.append((inputs, labels))
    (x, y), (x_v, y_v) = points
    network = init_mlp(request.param, (6, 64, 1))
    features = NTFMap.fit(network, x, 8)
    problem = Problem.from_features(
        features, x_v, y, y_v, "classification", request.param
    )
    fitted = fit(problem, OPTIONS)
    return Run(network, x, x_v, problem, fitted)


@pytest.mark.parametrize("rule", ["worst_inferred", "pooled"])
def test_the_selection_rule_chooses_the_cosine_weight(run: Run, rule: str) -> None:
    alone = []
    scores = []
    for weight in OPTIONS.cosine_weight:
        network = run.train(cosine_weight=[weight]).network
        score = run.worst if rule == "worst_inferred" else run.pooled
        alone.append(network)
        scores.append(score(network))
    best = int(np.argmax(scores))  # the first among equals
    trained = run.train(stop_by=rule)
    assert trained.cosine_weight == OPTIONS.cosine_weight[best]
    assert trained.score == pytest.approx(scores[best])
    scores_in_history = [row["score"] for row in trained.history]
    assert scores_in_history == pytest.approx(scores)
    outputs = trained.network(run.x)
    expected = alone[best](run.x)
    assert torch.equal(outputs, expected)
    every = [network(run.x) for network in alone]
    differences = torch.stack(every).diff(dim=0).abs()
    spread = differences.amax(-1)
    assert spread.min() > 0.01  # the weight matters


def test_the_rule_picks_the_step_as_well(run: Run) -> None:
    trained = run.train(cosine_weight=[300.0], check_every=5)
    ends = []
    for steps in (5, 10, 15, 20):
        end = run.train(cosine_weight=[300.0], steps=steps)
        ends.append(end)
    # the earliest among equals
    scores = [run.worst(end.network) for end in ends]
    best = ends[int(np.argmax(scores))]
    outputs = trained.network(run.x)
    expected = best.network(run.x)
    assert_close(outputs, expected, rtol=1e-4, atol=1e-5)
    (row,) = trained.history
    n_steps = best.history[0]["n_steps"]
    assert row["step"] == n_steps
    assert row["n_steps"] == 20


@pytest.mark.parametrize("check_every", [400, 6])
def test_the_last_step_of_a_training_that_ends_early_is_looked_at(
    run: Run, check_every: int
) -> None:
    # the objective cannot fall to a tenth in one window: training ends with the second
    trained = run.train(
        cosine_weight=[300.0], check_every=check_every, window=5, tol=10.0
    )
    looked_at = [steps for steps in (6, 10) if steps % check_every == 0 or steps == 10]
    ends = []
    for steps in looked_at:
        end = run.train(cosine_weight=[300.0], steps=steps)
        ends.append(end.network)
    scores = [run.worst(network) for network in ends]
    best = int(np.argmax(scores))
    outputs = trained.network(run.x)
    expected = ends[best](run.x)
    assert_close(outputs, expected, rtol=1e-4, atol=1e-5)
    (row,) = trained.history
    assert row["n_steps"] == 10
    assert row["step"] == looked_at[best]
    assert row["score"] == pytest.approx(scores[best])


def test_without_environments_it_is_erm_by_the_pooled_rule(run: Run) -> None:
    trained = run.train(iteration=0, check_every=5)
    assert trained.cosine_weight == 0
    ends = []
    for steps in (5, 10, 15, 20):
        end = run.train(cosine_weight=[0.0], steps=steps)
        ends.append(end.network)
    best = max(ends, key=run.pooled)
    outputs = trained.network(run.x)
    expected = best(run.x)
    assert_close(outputs, expected, rtol=1e-4, atol=1e-5)


def test_a_failed_training_is_chosen_only_if_there_is_no_other(run: Run) -> None:
    problem = replace(run.problem, task="regression")
    of_numbers = run._replace(problem=problem)
    infinite = float("inf")
    trained = of_numbers.train(cosine_weight=[infinite, 1.0])
    assert trained.cosine_weight == 1.0
    trained = of_numbers.train(cosine_weight=[infinite])
    outputs = trained.network(run.x)
    assert outputs.isnan().all()


def test_a_training_that_diverges_is_marked(run: Run) -> None:
    problem = replace(run.problem, task="regression")
    of_numbers = run._replace(problem=problem)
    trained = of_numbers.train(check_every=5)
    assert not trained.diverged
    y = problem.y.float()
    for rate in (100.0, 1e20):
        trained = of_numbers.train(check_every=5, learning_rate=rate)
        assert trained.diverged
        outputs = trained.network(run.x)
        error = (outputs - y).square().mean()
        assert not error <= 100  # enormous outputs, or none that are numbers


@pytest.mark.parametrize("check_every", [None, 5])
def test_labels_that_are_no_numbers_are_never_chosen(
    run: Run, check_every: int | None
) -> None:
    """Most of the labels are -1, which NaN is not."""
    y = torch.full_like(run.problem.y_validation, -1.0)
    y[:3] = 1.0
    problem = replace(run.problem, y_validation=y)
    rare = run._replace(problem=problem)
    given = {"check_every": check_every, "stop_by": "pooled"}
    trained = rare.train(cosine_weight=[float("inf"), 1.0], **given)
    assert trained.cosine_weight == 1.0
    assert not trained.diverged
    first, second = trained.history
    assert np.isnan(first["score"])
    assert trained.score == second["score"]
    trained = rare.train(cosine_weight=[float("inf")], **given)
    assert trained.diverged
    assert np.isnan(trained.score)
    assert trained.network(run.x).isnan().all()
    trained = rare.train(learning_rate=1e30, **given)
    assert trained.diverged
