"""Reference rows against the data themselves, and closed forms against densities."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from kerhrm_paper.data import classification, regression
from kerhrm_paper.data.classification import ClassificationData
from kerhrm_paper.data.closed_forms import (
    bayes_pooled_accuracy,
    invariant_ceiling,
    kept_given_y,
    reference_errors,
)
from kerhrm_paper.data.regression import RegressionData, selection_probability
from kerhrm_paper.evaluation.scores import closed_forms

BAYES = "ref: Bayes pooled"
CEILING = "ref: invariant ceiling"
LEAST_SQUARES = "ref: least squares on S"
STRUCTURAL = "ref: structural function"
# as the appendix prints them
PAPER = {
    "theta_s": [0.5, 1.0, 1.0],
    "noise": 0.3,
    "tau": 1.0,
}


def overall(generator: str, options: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Values over all test environments, by row and metric."""
    overall = {}
    for name, row in closed_forms(generator, options).items():
        values = {}
        for (environment, metric), value in row.items():
            if not environment:
                values[metric] = value
        overall[name] = values
    return overall


def test_classification_at_the_papers_constants() -> None:
    rows = overall("classification", {"r2": 0.7})
    assert list(rows) == [BAYES, CEILING]
    bayes = rows[BAYES]
    ceiling = rows[CEILING]
    assert bayes["train_acc"] == pytest.approx(0.848, abs=5e-4)
    assert bayes["test_acc"] == pytest.approx(0.479, abs=5e-4)
    assert ceiling["train_acc"] == ceiling["test_acc"]
    assert ceiling["test_acc"] == pytest.approx(0.772, abs=5e-4)
    for row in rows.values():
        gap = row["test_acc"] - row["train_acc"]
        assert row["generalisation_gap"] == pytest.approx(gap)


@pytest.mark.parametrize("generator", ["classification", "colored_mnist", "temporal"])
def test_the_invariant_features_are_worth_the_same_in_every_environment(
    generator: str,
) -> None:
    options = {
        "classification": {"r_test": [0.1, 0.5, 0.9]},
        "colored_mnist": {"test_flip": [0.9, 0.5, 0.15], "label_noise": 0.3},
        "temporal": {},
    }
    found = closed_forms(generator, options[generator])[CEILING]
    accuracies = {value for (_, metric), value in found.items() if "acc" in metric}
    assert len(accuracies) == 1
    assert found["", "worst_acc"] > 0.5
    if generator == "colored_mnist":
        assert found["e_test=0.15", "test_acc"] == pytest.approx(0.7)


def test_the_worst_of_the_bayes_rule_is_that_of_its_worst_bias_rate() -> None:
    """And ``test_acc`` is that of the first one."""
    rates = [0.5, 0.1, 0.9]
    found = closed_forms("classification", {"r2": 0.7, "r_test": rates})[BAYES]
    alone = []
    for rate in rates:
        options = {"r2": 0.7, "r_test": [rate]}
        rows = overall("classification", options)
        alone.append(rows[BAYES]["test_acc"])
    assert alone[1] == min(alone)
    assert found["", "worst_acc"] == alone[1]
    assert found["", "test_acc"] == alone[0]
    each = [value for (where, _), value in found.items() if where]
    assert each == alone


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"noise_unit": "variance"},
        {
            "sigma_s": 1.5,
            "sigma_v": 1.2,
            "d": 3,
            "r1": 0.95,
            "r2": 0.6,
            "r_test": [0.3],
        },
        {
            "sigma_s": 1.0,
            "sigma_v": 0.8,
            "agreement": 0.9,
            "r2": 0.6,
            "r_test": [0.9, 0.1],
        },
        {"spurious": "S", "agreement": 0.8, "r2": 0.7},
    ],
)
def test_classification_by_simulation(changed: dict[str, Any]) -> None:
    """The Bayes rule itself, on points of the generator."""
    options = {"r2": 0.8, "scramble": "identity", **changed}
    n = 20_000
    section = ClassificationData(n_train_per_environment=n, n_test=2 * n, **options)
    data = classification.generate(section, [0])
    sigmas = [section.sigma_s, section.sigma_v]
    if section.noise_unit == "variance":
        sigmas = [sigma**0.5 for sigma in sigmas]
    pooled = (section.r1 + section.r2) / 2
    shares = [section.agreement, pooled]
    if section.spurious == "S":
        shares.reverse()

    def log_odds(x: np.ndarray, sigma: float, share: float) -> np.ndarray:
        """Of Y given one part."""
        precision = 1 / (2 * sigma**2)
        distance_to_plus = ((x - 1) ** 2).sum(-1)
        plus = -distance_to_plus * precision
        distance_to_minus = ((x + 1) ** 2).sum(-1)
        minus = -distance_to_minus * precision
        with np.errstate(divide="ignore"):
            agree, differ = np.log([share, 1 - share])
        of_plus = np.logaddexp(agree + plus, differ + minus)
        of_minus = np.logaddexp(differ + plus, agree + minus)
        return np.asarray(of_plus - of_minus)

    rows = closed_forms("classification", section.model_dump())
    cases = [(data.train, 0, ("", "train_acc"))]
    for number, name in enumerate(data.test_environments):
        cases.append((data.test, number, (name, "test_acc")))
    for part, environment, key in cases:
        here = part.environment[0] == environment if key[0] else slice(None)
        x = part.x[0].astype(float)[here]
        is_positive = part.y[0][here] > 0
        first, second = np.split(x, 2, axis=1)
        odds = log_odds(first, sigmas[0], shares[0])
        odds = odds + log_odds(second, sigmas[1], shares[1])
        stable = second if section.spurious == "S" else first
        rules = {BAYES: odds, CEILING: stable.sum(-1)}
        for name, rule in rules.items():
            accuracy = np.mean((rule > 0) == is_positive)
            assert rows[name][key] == pytest.approx(accuracy, abs=0.01)


@pytest.mark.parametrize(
    "changed",
    [{}, PAPER | {"r": 1.9}, {"beta": 1.0, "n_s": 4, "test_r": [-1.5, -2.5]}],
)
def test_regression_by_simulation(changed: dict[str, Any]) -> None:
    """Least squares on many points of S, and f itself on points without scrambling."""
    options = {"r": 1.5, "scenario": 1, "n_test": 6000, **changed}
    section = RegressionData(n_train=(10_000, 1000), **options)
    rows = overall("regression", section.model_dump())
    assert list(rows) == [LEAST_SQUARES, STRUCTURAL]
    data = regression.generate(section, [0])
    n_s = section.n_s
    s = data.train.x[0, :, :n_s].astype(float)
    y = data.train.y[0].astype(float)
    slope, *_ = np.linalg.lstsq(s, y, rcond=None)

    s = data.test.x[0, :, :n_s].astype(float)
    y = data.test.y[0].astype(float)
    signs = (-1.0) ** np.arange(n_s)
    theta = np.resize(section.theta_s, n_s) * signs
    product = s[:, :3].prod(axis=1)
    f = s @ theta + section.beta * product
    environment = data.test.environment[0]
    for name, outputs in ((LEAST_SQUARES, s @ slope), (STRUCTURAL, f)):
        squares = (outputs - y) ** 2
        errors = []
        for e in range(len(section.test_r)):
            errors.append(squares[environment == e].mean())
        mean = np.mean(errors)
        assert rows[name]["mean_error"] == pytest.approx(mean, rel=0.06)


def test_spread_is_over_test_environments() -> None:
    test_r = [-1.2, -1.5, -3.0]
    rows = overall("regression", {"test_r": test_r})
    single = [overall("regression", {"test_r": [r]}) for r in test_r]
    for name, row in rows.items():
        errors = [s[name]["mean_error"] for s in single]
        expected = np.mean(errors)
        assert row["mean_error"] == pytest.approx(expected)
        assert row["worst_error"] == max(errors)
        deviation = np.std(errors, ddof=1)
        assert row["error_sd"] == pytest.approx(deviation)
        for s in single:
            assert math.isnan(s[name]["error_sd"])


rates = st.floats(0, 1)
sizes = st.tuples(st.integers(1, 10), st.floats(0.2, 5), st.floats(0.2, 5))


@given(rates, sizes)
def test_bayes_rule_without_and_with_full_correlation(
    r: float, size: tuple[int, float, float]
) -> None:
    d, sigma_s, sigma_v = size
    # At 1/2, V says nothing; at 1, V is d more measurements of Y (of -Y where A = -Y).
    without = bayes_pooled_accuracy(0.5, r, *size)
    ceiling = invariant_ceiling(d, sigma_s)
    assert without == pytest.approx(ceiling, abs=1e-9)

    precision_s = d / sigma_s**2
    precision_v = d / sigma_v**2
    both = np.sqrt(precision_s + precision_v)
    difference = (precision_s - precision_v) / both
    right, wrong = stats.norm.cdf([both, difference])
    expected = r * right + (1 - r) * wrong
    full = bayes_pooled_accuracy(1, r, *size)
    assert full == pytest.approx(expected, abs=1e-9)


@given(rates, rates, sizes)
def test_no_other_rule_beats_the_bayes_rule(
    r: float, other: float, size: tuple[int, float, float]
) -> None:
    d, sigma_s, _ = size
    for agreement in (0.8, 1.0):
        best = bayes_pooled_accuracy(r, r, *size, agreement)
        another = bayes_pooled_accuracy(other, r, *size, agreement)
        assert best >= another - 1e-6
    ceiling = invariant_ceiling(d, sigma_s)
    assert best >= ceiling - 1e-9


@given(
    st.floats(-30, 30),
    st.sampled_from([1.01, -1.1, 1.5, -2.9, 20.0]),
    st.floats(0.2, 3),
)
def test_the_chance_to_be_kept_integrates_over_v(
    y: float, r: float, tau: float
) -> None:
    def integrand(v: float) -> float:
        point = np.array([y])
        kept = selection_probability(point, np.array([v]), r)
        density = stats.norm.pdf(v, 0, tau)
        return float(kept[0] * density)

    kink = np.sign(r) * y
    reach = 12 * tau
    inside = [kink] if abs(kink) < reach else None
    exact = {"epsabs": 0.0, "epsrel": 1e-9, "limit": 400}  # tiny values, too
    expected, _ = integrate.quad(integrand, -reach, reach, points=inside, **exact)
    (got,) = kept_given_y(np.array([y]), r, tau)
    (of_opposite_r,) = kept_given_y(np.array([y]), -r, tau)
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert got == pytest.approx(of_opposite_r)


@pytest.mark.parametrize("r", [1.5, 1.9, 2.3])
def test_predicting_zero_and_least_squares_on_s(r: float) -> None:
    """The figures that put the paper's Table 3, where 3.375 is the best, into
    proportion."""
    found = reference_errors(RegressionData(r=r))
    reference = {name: errors.mean() for name, errors in found.items()}
    assert reference["zero"] == pytest.approx(2.17, abs=0.03)
    assert reference["least squares on S"] == pytest.approx(1.53, abs=0.02)
    assert reference["structural function"] == pytest.approx(0.885, abs=0.01)
