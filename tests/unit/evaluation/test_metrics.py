"""Values of one predictor against loops over points; the divergence between
environments."""

import math
import statistics
import warnings
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kerhrm_paper.evaluation.metrics import (
    Labels,
    accuracy,
    constant_outputs,
    divergence,
    environment_errors,
    environment_means,
    failures,
    metrics,
    references,
)

SIZES = {"train": 12, "validation": 7, "test": 9}
S = 3
C = 4
N = 30
ENVIRONMENT = np.array([0, 0, 1, 2, 1, 2, 2, 1, 1])  # of the test points
NAMES = ["1916-1918", "1919-1920", "1921-1927"]
N_HEADLINE = 2  # of them
UNIT = np.array([1.0, 0.5, 3.0])  # of y, one per replicate


def draw(seed: int) -> dict[str, np.ndarray]:
    """Normal numbers (S, n) of each part."""
    rng = np.random.default_rng(seed)
    values = {}
    for part, n in SIZES.items():
        values[part] = rng.standard_normal((S, n))
    return values


def labels(task: str = "classification") -> Labels:
    y = draw(100)
    if task == "classification":
        y = {part: np.sign(values) for part, values in y.items()}
    return Labels(
        train=y["train"],
        test=y["test"],
        test_environment=ENVIRONMENT,
        source="synthetic",
        names=NAMES,
        n_headline=N_HEADLINE,
        unit=UNIT,
        x=np.zeros((S, SIZES["train"], 2)),
    )


def share(outputs: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of one predictor, point by point; an output of 0 is the class -1."""
    hits = 0
    for output, label in zip(outputs, y, strict=True):
        hits += (output > 0) == (label == 1)
    return hits / len(y)


def share_by_environment(outputs: np.ndarray, y: np.ndarray) -> list[float]:
    shares = []
    for number in range(3):
        here = number == ENVIRONMENT
        outputs_here = outputs[here]
        shares.append(share(outputs_here, y[here]))
    return shares


def errors(outputs: np.ndarray, y: np.ndarray, unit: float) -> list[float]:
    """By test environment."""
    squares: dict[int, list[float]] = {0: [], 1: [], 2: []}
    points = zip(outputs, y, ENVIRONMENT, strict=True)
    for output, label, number in points:
        error = (output - label) * unit
        squares[number].append(error**2)
    return [statistics.fmean(values) for values in squares.values()]


def test_accuracy_is_the_share_of_right_signs() -> None:
    outputs = np.array(
        [
            [0.1, -3.0, 2.0, 0.0],
            [-0.1, -3.0, -2.0, 0.0],
        ]
    )
    y = np.array(
        [
            [1.0, -1.0, -1.0, -1.0],
            [1.0, 1.0, 1.0, 1.0],
        ]
    )
    by_predictor = accuracy(outputs, y)
    assert_array_equal(by_predictor, [0.75, 0.0])
    ones = np.ones((S, C, 5))
    of_candidates = accuracy(ones, ones[:, :1])
    assert of_candidates.shape == (S, C)


def test_means_of_environments_by_hand() -> None:
    values = np.array([[1.0, 2.0, 6.0], [0.0, 1.0, 1.0]])
    environment = np.array([5, 2, 5])
    means = environment_means(values, environment)
    assert_array_equal(means, [[2.0, 3.5], [1.0, 0.5]])


def test_errors_are_those_of_double_precision() -> None:
    # its square is beyond single precision
    large = np.full((1, 4), 1e25)
    outputs = large.astype(np.float32)
    y = np.zeros((1, 4), np.float32)
    environment = np.array([0, 0, 1, 1])
    squared_errors = environment_errors(outputs, y, environment)
    expected = [[1e50, 1e50]]
    assert_allclose(squared_errors, expected, rtol=1e-6)


def test_kinds_of_scores_by_loops() -> None:
    outputs = draw(0)
    y = labels()
    pooled = metrics(outputs, y, "accuracy")
    shifted = metrics(outputs, y, "shift")
    for b in range(S):
        outputs_of_training = outputs["train"][b]
        train = share(outputs_of_training, y.train[b])
        headline = [e < N_HEADLINE for e in ENVIRONMENT]
        outputs_of_test = outputs["test"][b][headline]
        labels_of_seed = y.test[b]
        test = share(outputs_of_test, labels_of_seed[headline])
        outputs_of_seed = outputs["test"][b]
        by_environment = share_by_environment(outputs_of_seed, labels_of_seed)
        expected = {
            "train_acc": train,
            "test_acc": test,
            "generalisation_gap": test - train,
            "worst_acc": min(by_environment),
        }
        scores = {}
        for (_, metric), seeds in pooled.items():
            scores[metric] = seeds[b]
        assert scores == pytest.approx(expected)
        shares = {}
        for (name, _), seeds in shifted.items():
            shares[name] = seeds[b]
        assert list(shares) == NAMES
        in_order = list(shares.values())
        assert in_order == pytest.approx(by_environment)

    y = labels("regression")
    pooled = metrics(outputs, y, "mean_error")
    by_period = metrics(outputs, y, "period")
    expected_keys = [(f"period={name}", "mse") for name in NAMES]
    assert list(by_period) == expected_keys
    for b in range(S):
        outputs_of_test = outputs["test"][b]
        labels_of_seed = y.test[b]
        each = errors(outputs_of_test, labels_of_seed, UNIT[b])
        of_headline = each[:N_HEADLINE]
        mean = statistics.fmean(of_headline)
        deviation = statistics.stdev(of_headline)
        values = []
        for seeds in by_period.values():
            values.append(seeds[b])
        assert values == pytest.approx(each)
        mean_error = pooled["", "mean_error"][b]
        error_sd = pooled["", "error_sd"][b]
        worst_error = pooled["", "worst_error"][b]
        assert mean_error == pytest.approx(mean)
        assert error_sd == pytest.approx(deviation)
        worst = max(each)
        assert worst_error == pytest.approx(worst)


orders = st.permutations(range(SIZES["test"]))
kinds = st.sampled_from(["accuracy", "shift"])


@given(orders, kinds)
def test_the_order_of_the_test_rows_does_not_matter(
    order: list[int], kind: str
) -> None:
    y = labels()
    outputs = draw(0)
    environment = y.test_environment[order]
    moved_y = y.test[:, order]
    moved = replace(y, test=moved_y, test_environment=environment)
    permuted = outputs["test"][:, order]
    moved_outputs = outputs | {"test": permuted}
    of_moved = metrics(moved_outputs, moved, kind)
    for key, values in metrics(outputs, y, kind).items():
        assert_allclose(of_moved[key], values)


def test_further_environments_change_the_worst_alone() -> None:
    """All but the first one, of which the headline is."""
    y = replace(labels(), n_headline=1)
    outputs = draw(0)
    alone = replace(
        y,
        test=y.test[:, ENVIRONMENT == 0],
        test_environment=np.zeros(2, dtype=int),
        names=NAMES[:1],
    )
    is_first = ENVIRONMENT == 0
    test = outputs["test"][:, is_first]
    of_first = outputs | {"test": test}
    before = metrics(of_first, alone, "accuracy")
    after = metrics(outputs, y, "accuracy")
    added = set(after) - set(before)
    assert added == {("", "worst_acc")}
    for key, values in before.items():
        assert_array_equal(after[key], values)
    worst = after["", "worst_acc"]
    assert (worst <= after["", "test_acc"]).all()


def test_of_a_single_environment_there_is_no_worst() -> None:
    y = replace(
        labels("regression"),
        test_environment=np.zeros(SIZES["test"], dtype=int),
        names=NAMES[:1],
        n_headline=1,
    )
    for kind in ("accuracy", "mean_error"):
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            found = metrics(draw(0), y, kind)
        names = {metric for _, metric in found}
        assert not {"worst_acc", "worst_error"} & names


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("part", SIZES)
def test_a_diverged_seed_has_a_reason(part: str, bad: float) -> None:
    outputs = draw(0)
    assert failures(outputs) == ["", "", ""]
    outputs[part][1, [0, 3]] = bad
    assert failures(outputs) == ["", "diverged: 2 of 28 outputs are not finite", ""]


def test_constants() -> None:
    y = labels("regression")
    rows = references(y, "period")
    period_means = rows["ref: each period's own mean"]["test"]
    for number in range(len(NAMES)):
        here = y.test_environment == number
        labels_here = y.test[:, here]
        mean = labels_here.mean(1, keepdims=True)
        n_here = here.sum()
        expected = np.repeat(mean, n_here, axis=1)
        assert_allclose(period_means[:, here], expected)
    training_means = constant_outputs(y, None)
    for b in range(S):
        outputs_of_seed = training_means["test"][b]
        mean = y.train[b].mean()
        assert set(outputs_of_seed) == {mean}
    zeros = constant_outputs(y, 0.0)
    assert not zeros["train"].any()


def memberships(k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responsibilities, labels and attribute."""
    rng = np.random.default_rng(seed)
    concentration = np.full(k, 0.3)
    r = rng.dirichlet(concentration, (S, N))
    y = rng.choice([-1.0, 1.0], (S, N))
    shares = [0.3, 0.7]
    c = rng.choice([0, 1], (S, N), p=shares)
    return r, y, c


def by_loop(r: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """One seed, as the formula reads."""
    n, k = r.shape

    def p(label: float, colour: int, environment: int) -> float:
        """P(Y = label | colour, environment), smoothed."""
        of_colour = [i for i in range(n) if c[i] == colour]
        same_label = [i for i in of_colour if y[i] == label]
        count = r[same_label, environment].sum()
        size = r[of_colour, environment].sum()
        return (count + 0.5) / (size + 1)

    total = 0.0
    for e, f in permutations(range(k), 2):
        for colour in (0, 1):
            p_colour = sum(c == colour) / n
            for label in (-1.0, 1.0):
                p_e = p(label, colour, e)
                p_f = p(label, colour, f)
                total += p_colour * p_e * math.log(p_e / p_f)
    return total / (k * (k - 1))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_divergence_by_a_loop(k: int) -> None:
    r, y, c = memberships(k)
    expected = []
    for b in range(S):
        of_seed = (r[b], y[b], c[b])
        expected.append(by_loop(*of_seed))
    assert_allclose(divergence(r, y, c), expected)


def test_an_environment_without_points_does_not_count() -> None:
    r, y, c = memberships(3)
    r[0, :, 1] = 0
    r[1, :, :2] = 0  # which leaves one
    values = divergence(r, y, c)
    without_second = r[..., [0, 2]]
    of_two = divergence(without_second, y, c)
    of_three = divergence(*memberships(3))
    assert values[0] == pytest.approx(of_two[0])
    assert math.isnan(float(values[1]))
    assert values[2] == pytest.approx(of_three[2])


def test_one_environment_has_no_deviation_of_errors() -> None:
    """A single number has none, which is no failure."""
    outputs = draw(0)
    for n_headline, names in ((1, NAMES), (2, NAMES), (1, ["all"])):
        environment = ENVIRONMENT if len(names) > 1 else np.zeros(9, dtype=int)
        of_task = replace(
            labels("regression"),
            n_headline=n_headline,
            names=names,
            test_environment=environment,
        )
        values = metrics(outputs, of_task, "mean_error")
        assert all(np.isfinite(numbers).all() for numbers in values.values())
        assert (("", "error_sd") in values) == (n_headline > 1)
