"""Values of one predictor against loops over points; the divergence between
environments."""

import math
import statistics
from itertools import permutations

import numpy as np
import pytest

from kerhrm_paper.evaluation.metrics import (
    Labels,
    accuracy,
    constant_outputs,
    divergence,
    environment_errors,
    failures,
    metrics,
    references,
)

SIZES = {"train": 12, "validation": 7, "test": 9}
S, C, N = 3, 4, 30
ENVIRONMENT = np.array([0, 0, 1, 2, 1, 2, 2, 1, 1])  # of the test points
NAMES = ["1916-1918", "1919-1920", "1921-1927"]
UNIT = np.array([1.0, 0.5, 3.0])  # of y, one per replicate


def draw(seed: int, *leading: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal((*leading, n)) for name, n in SIZES.items()}


def labels(task: str = "classification") -> Labels:
    y = draw(100, S)
    y = {p: np.sign(a) for p, a in y.items()} if task == "classification" else y
    x = np.zeros((S, SIZES["train"], 2))
    return Labels(y["train"], y["test"], ENVIRONMENT, "synthetic", NAMES, UNIT, x)


def share(outputs: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of one predictor, point by point; an output of 0 is the class -1."""
    hits = [(f > 0) == (label == 1) for f, label in zip(outputs, y, strict=True)]
    return sum(hits) / len(hits)


def errors(outputs: np.ndarray, y: np.ndarray, unit: float) -> list[float]:
    """By test environment."""
    squares = [(f - label) ** 2 * unit**2 for f, label in zip(outputs, y, strict=True)]
    return [
        statistics.fmean(
            q for q, e in zip(squares, ENVIRONMENT, strict=True) if e == number
        )
        for number in range(3)
    ]


def test_accuracy_is_the_share_of_right_signs() -> None:
    outputs = np.array([[0.1, -3.0, 2.0, 0.0], [-0.1, -3.0, -2.0, 0.0]])
    y = np.array([[1.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(accuracy(outputs, y), [0.75, 0.0])
    # candidates
    assert accuracy(np.ones((S, C, 5)), np.ones((S, 1, 5))).shape == (
        S,
        C,
    )


def test_errors_are_those_of_double_precision() -> None:
    # its square is beyond single precision
    outputs = np.full((1, 4), 1e25, dtype=np.float32)
    found = environment_errors(
        outputs, np.zeros((1, 4), np.float32), np.array([0, 0, 1, 1])
    )
    np.testing.assert_allclose(found, [[1e50, 1e50]], rtol=1e-6)


def test_kinds_of_scores_by_loops() -> None:
    outputs = draw(0, S)
    y = labels()
    found = metrics(outputs, y, "accuracy")
    for b in range(S):
        train, test = (
            share(outputs[p][b], getattr(y, p)[b]) for p in ("train", "test")
        )
        values = {
            "train_acc": train,
            "test_acc": test,
            "generalisation_gap": test - train,
        }
        of = [e == ENVIRONMENT for e in range(3)]
        values["worst_acc"] = min(
            share(outputs["test"][b][e], y.test[b][e]) for e in of
        )
        assert {m: v[b] for (_, m), v in found.items()} == pytest.approx(values)
        shares = [share(outputs["test"][b][e], y.test[b][e]) for e in of]
        shifted = metrics(outputs, y, "shift")
        assert {n: v[b] for (n, _), v in shifted.items()} == pytest.approx(
            dict(zip(NAMES, shares, strict=True))
        )
    y = labels("regression")
    pooled, each = metrics(outputs, y, "mean_error"), metrics(outputs, y, "period")
    assert list(each) == [(f"period={name}", "mse") for name in NAMES]
    for b in range(S):
        expected = errors(outputs["test"][b], y.test[b], UNIT[b])
        assert [values[b] for values in each.values()] == pytest.approx(expected)
        assert pooled["", "mean_error"][b] == pytest.approx(statistics.fmean(expected))
        assert pooled["", "error_sd"][b] == pytest.approx(statistics.stdev(expected))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("part", SIZES)
def test_a_diverged_seed_has_a_reason(part: str, bad: float) -> None:
    outputs = draw(0, S)
    assert failures(outputs) == ["", "", ""]
    outputs[part][1, [0, 3]] = bad
    assert failures(outputs) == ["", "diverged: 2 of 28 outputs are not finite", ""]


def test_constants() -> None:
    y = labels("regression")
    own = references(y, "period")["ref: each period's own mean"]["test"]
    for e in range(len(NAMES)):
        here = y.test_environment == e
        expected = np.repeat(y.test[:, here].mean(1, keepdims=True), here.sum(), axis=1)
        np.testing.assert_allclose(own[:, here], expected)
    mean = constant_outputs(y, None)
    for b in range(S):
        assert set(mean["test"][b]) == {y.train[b].mean()}
    assert not constant_outputs(y, 0.0)["train"].any()


def memberships(k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responsibilities, labels and attribute."""
    rng = np.random.default_rng(seed)
    r = rng.dirichlet(np.full(k, 0.3), (S, N))
    y = rng.choice([-1.0, 1.0], (S, N))
    return r, y, rng.choice([0, 1], (S, N), p=[0.3, 0.7])


def by_loop(r: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """One seed, as the formula reads."""
    total = 0.0
    for e, f in permutations(range(r.shape[1]), 2):
        for colour in (0, 1):
            points = [i for i in range(len(y)) if c[i] == colour]

            def p(environment: int, label: float, points: list[int] = points) -> float:
                count = sum(r[i, environment] for i in points if y[i] == label)
                return (count + 0.5) / (sum(r[i, environment] for i in points) + 1)

            for label in (-1.0, 1.0):
                total += (
                    len(points)
                    / len(c)
                    * p(e, label)
                    * math.log(p(e, label) / p(f, label))
                )
    return total / (r.shape[1] * (r.shape[1] - 1))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_divergence_by_a_loop(k: int) -> None:
    r, y, c = memberships(k)
    expected = [by_loop(*one) for one in zip(r, y, c, strict=True)]
    np.testing.assert_allclose(divergence(r, y, c), expected)


def test_an_environment_without_points_does_not_count() -> None:
    r, y, c = memberships(3)
    r[0, :, 1] = 0
    r[1, :, :2] = 0  # which leaves one
    found = divergence(r, y, c)
    assert found[0] == pytest.approx(divergence(r[..., [0, 2]], y, c)[0])
    assert math.isnan(float(found[1]))
    assert found[2] == pytest.approx(divergence(*memberships(3))[2])
