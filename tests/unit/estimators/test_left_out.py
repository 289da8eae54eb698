"""What the guard of labels looks at: all rows, by models that have not seen them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from kerhrm import KerHRMClassifier, KerHRMOptions, Problem
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.records import Direction, Memberships
from kerhrm.estimators._left_out import FOLDS, left_out
from tests.unit.estimators.conftest import flipped_labels

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
RIDGE = 1e-6
SMALL: dict[str, Any] = {
    "k": 5,
    "n_init": 2,
    "network": (64,),
}


def problem_of(n: int, k: int, seed: int, *, weighted: bool = False) -> Any:
    """Labels that no feature tells, and two environments drawn at random."""
    random = np.random.default_rng(seed)
    u = random.normal(size=(n, k))
    f0 = 0.1 * random.normal(size=n)
    y = random.choice([-1.0, 1.0], n)
    weights = random.uniform(0.5, 2, n) if weighted else None
    first = random.uniform(size=n)
    members = np.column_stack([first, 1 - first])
    point_weights = None
    if weights is not None:
        members *= weights[:, None]
        point_weights = torch.from_numpy(weights)
    s = np.linspace(2, 1, k)
    psi = torch.from_numpy(u * s)
    f = torch.from_numpy(f0)
    labels = torch.from_numpy(y)
    problem = Problem(
        u=torch.from_numpy(u),
        s=torch.from_numpy(s),
        psi_validation=psi[:4],
        f0_train=f,
        f0_validation=f[:4],
        y=labels,
        y_validation=labels[:4].clone(),
        task="classification",
        seed=0,
        weights=point_weights,
    )
    train = torch.from_numpy(members)
    length = torch.tensor(k)
    degenerate = torch.tensor(False)
    train_of_first = train[:4]
    one = Memberships(length, train, train_of_first, degenerate)
    return problem, one


def final_of(problem: Problem, one: Memberships, options: KerHRMOptions) -> Direction:
    """The chosen direction of one iteration."""
    environments = [Memberships.stack([one])]
    directions = learn_directions(problem, environments, options)
    return directions.winner(1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_outputs_are_those_of_regressions_on_the_other_rows(
    weighted: bool, alpha: float
) -> None:
    """The normal equations of the other rows, written out."""
    problem, one = problem_of(43, 3, 0, weighted=weighted)
    options = KerHRMOptions(k=[3], alpha=[alpha], ridge=RIDGE)
    final = final_of(problem, one, options)
    outputs = left_out(problem, one, final, options)
    found = outputs.numpy()
    psi = problem.psi_train.numpy()
    f0 = problem.f0_train.numpy()
    target = problem.y.numpy() - f0
    r = one.train.numpy()
    for fold in range(FOLDS):
        rest = np.arange(43) % FOLDS != fold
        p = psi[rest]
        t = target[rest]
        r_of_rest = r[rest]
        shares = r_of_rest / r_of_rest.sum(0)
        second = []
        cross = []
        for share in shares.T:
            products = (p * share[:, None]).T
            second.append(products @ p)
            cross.append(products @ t)
        unit = (p**2).mean()
        a = sum(second) / 2
        b = sum(cross) / 2
        # two environments: the variance of gradients is |difference|^2 of them
        d = second[0] - second[1]
        e = cross[0] - cross[1]
        penalty = alpha / unit
        diagonal = RIDGE * unit * np.eye(3)
        a = a + diagonal + penalty * d.T @ d
        right = b + penalty * d.T @ e
        theta = np.linalg.solve(a, right)
        expected = f0 + psi @ theta
        out = ~rest
        expected = expected[out]
        assert_allclose(found[out], expected, rtol=1e-8)


def test_a_row_has_no_part_in_its_own_output() -> None:
    problem, one = problem_of(60, 4, 1)
    options = KerHRMOptions(k=[4], alpha=[0.1])
    final = final_of(problem, one, options)
    before = left_out(problem, one, final, options)
    problem.y[::FOLDS] *= -1
    after = left_out(problem, one, final, options)
    changed = slice(None, None, FOLDS)
    expected = before[changed]
    torch.testing.assert_close(after[changed], expected, rtol=0, atol=0)
    next_row = after[1]
    assert not torch.equal(next_row, before[1])


def test_draws_of_a_point_are_left_out_as_equal_rows_are() -> None:
    problem, one = problem_of(20, 3, 2)
    random = np.random.default_rng(3)
    units = torch.from_numpy(random.integers(1, 8, 20))
    options = KerHRMOptions(k=[3], alpha=[0.0], ridge=1e-12)
    final = final_of(problem, one, options)

    def repeated(values: torch.Tensor) -> torch.Tensor:
        return values.repeat_interleave(units, dim=0)

    rows = replace(
        problem,
        u=repeated(problem.u),
        f0_train=repeated(problem.f0_train),
        y=repeated(problem.y),
    )
    members = replace(one, train=repeated(one.train))
    of_rows = left_out(rows, members, final, options)
    weights = units / units.double().mean()
    weighted = replace(problem, weights=weights)
    members = replace(one, train=one.train * weights[:, None])
    of_points = left_out(weighted, members, final, options, units)
    parts = torch.split(of_rows, units.tolist())
    expected = torch.stack([part.mean() for part in parts])
    torch.testing.assert_close(of_points, expected, rtol=1e-6, atol=1e-8)


def test_what_cannot_be_told_is_wrong_in_half_of_the_rows() -> None:
    """Twenty features of a hundred rows fit noise, and say nothing of other rows."""
    errors_of_fit = []
    errors_left_out = []
    for seed in range(20):
        problem, one = problem_of(100, 20, seed)
        options = KerHRMOptions(k=[20], alpha=[0.0])
        final = final_of(problem, one, options)
        is_positive = problem.y > 0
        fitted = final.predict(problem.psi_train, problem.f0_train)
        unseen = left_out(problem, one, final, options)
        wrong_in_fit = (fitted > 0) != is_positive
        wrong_left_out = (unseen > 0) != is_positive
        errors_of_fit.append(wrong_in_fit.double().mean())
        errors_left_out.append(wrong_left_out.double().mean())
    assert np.mean(errors_of_fit) < 0.4
    # 3.6 standard errors
    mean = np.mean(errors_left_out)
    assert mean == pytest.approx(0.5, abs=0.04)


def test_without_a_ridge_fewer_rows_are_no_failure() -> None:
    """A feature that is zero but in one row leaves nothing to solve without it."""
    problem, one = problem_of(30, 2, 0)
    problem.u[1:, 1] = 0
    options = KerHRMOptions(k=[2], alpha=[0.0], ridge=0)
    final = final_of(problem, one, options)
    outputs = left_out(problem, one, final, options)
    assert torch.isfinite(outputs).all()


@pytest.mark.parametrize(("n", "seed"), [(200, 3), (200, 4), (300, 3)])
def test_flips_in_few_rows_have_one_verdict(n: int, seed: int) -> None:
    """By the validation rows alone ERM predicted for some of the seeds."""
    x, y, _ = flipped_labels(n, seed)
    predictors = set()
    for random_state in range(4):
        model = KerHRMClassifier(**SMALL, random_state=random_state)
        model.fit(x, y)
        predictors.add(model.predictor_)
    assert predictors == {"linear"}


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_the_verdict_does_not_depend_on_an_order(wrong: float) -> None:
    x, y, _ = flipped_labels(200, 4)
    random = np.random.default_rng(0)
    is_wrong = random.random(200) < wrong
    y = np.where(is_wrong, -y, y)
    model = KerHRMClassifier(**SMALL, random_state=0)
    model.fit(x, y)
    for _ in range(2):
        rows = random.permutation(200)
        columns = random.permutation(2)
        permuted = x[rows][:, columns]
        other = KerHRMClassifier(**SMALL, random_state=0)
        other.fit(permuted, y[rows])
        assert other.predictor_ == model.predictor_
        assert other._reason == model._reason
        predictions = other.predict(x[:, columns])
        expected = model.predict(x)
        assert_array_equal(expected, predictions)
