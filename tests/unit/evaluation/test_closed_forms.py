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
from kerhrm_paper.evaluation.reference_scores import closed_forms

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
        "colored_mnist": {
            "test_flip": [0.9, 0.5, 0.15],
            "label_noise": 0.3,
        },
        "temporal": {},
    }
    found = closed_forms(generator, options[generator])[CEILING]
    accuracies = set()
    for (_, metric), value in found.items():
        if "acc" in metric:
            accuracies.add(value)
    assert len(accuracies) == 1
    assert found["", "worst_acc"] > 0.5
    if generator == "colored_mnist":
        assert found["e_test=0.15", "test_acc"] == pytest.approx(0.7)


def test_the_worst_of_the_bayes_rule_is_that_of_its_worst_bias_rate() -> None:
    """And ``test_acc`` is that of the first one."""
    rates = [0.5, 0.1, 0.9]
    options = {"r2": 0.7, "r_test": rates}
    found = closed_forms("classification", options)[BAYES]
    alone = []
    for rate in rates:
        options = {"r2": 0.7, "r_test": [rate]}
        rows = overall("classification", options)
        alone.append(rows[BAYES]["test_acc"])
    assert alone[1] == min(alone)
    assert found["", "worst_acc"] == alone[1]
    assert found["", "test_acc"] == alone[0]
    each = []
    for (environment, _), value in found.items():
        if environment:
            each.append(value)
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
    section = ClassificationData(
        n_train_per_environment=n,
        n_test=2 * n,
        **options,
    )
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
        squares_to_plus = (x - 1) ** 2
        plus = -squares_to_plus.sum(-1) * precision
        squares_to_minus = (x + 1) ** 2
        minus = -squares_to_minus.sum(-1) * precision
        with np.errstate(divide="ignore"):
            agree = np.log(share)
            differ = np.log(1 - share)
        of_plus = np.logaddexp(agree + plus, differ + minus)
        of_minus = np.logaddexp(differ + plus, agree + minus)
        return np.asarray(of_plus - of_minus)

    rows = closed_forms("classification", section.model_dump())
    key_of_training = ("", "train_acc")
    cases = [(data.train, 0, key_of_training)]
    for number, name in enumerate(data.test_environments):
        key = (name, "test_acc")
        cases.append((data.test, number, key))
    for part, environment, key in cases:
        here = slice(None)
        if key[0]:
            here = part.environment[0] == environment
        x = part.x[0][here].astype(float)
        is_positive = part.y[0][here] > 0
        first, second = np.split(x, 2, axis=1)
        of_first = log_odds(first, sigmas[0], shares[0])
        of_second = log_odds(second, sigmas[1], shares[1])
        odds = of_first + of_second
        stable = second if section.spurious == "S" else first
        total = stable.sum(-1)
        rules = {BAYES: odds, CEILING: total}
        for name, rule in rules.items():
            accuracy = np.mean((rule > 0) == is_positive)
            expected = rows[name][key]
            assert expected == pytest.approx(accuracy, abs=0.01)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        PAPER | {"r": 1.9},
        {"beta": 1.0, "n_s": 4, "test_r": [-1.5, -2.5]},
    ],
)
def test_regression_by_simulation(changed: dict[str, Any]) -> None:
    """Least squares on many points of S, and f itself on points without scrambling."""
    usual = {"r": 1.5, "scenario": 1, "n_test": 6000}
    options = usual | changed
    section = RegressionData(n_train=(10_000, 1000), **options)
    rows = overall("regression", section.model_dump())
    assert list(rows) == [LEAST_SQUARES, STRUCTURAL]
    data = regression.generate(section, [0])
    n_s = section.n_s
    train = data.train
    s = train.x[0, :, :n_s].astype(float)
    y = train.y[0].astype(float)
    slope, *_ = np.linalg.lstsq(s, y, rcond=None)

    test = data.test
    s = test.x[0, :, :n_s].astype(float)
    y = test.y[0].astype(float)
    signs = (-1.0) ** np.arange(n_s)
    theta = np.resize(section.theta_s, n_s) * signs
    first_three = s[:, :3]
    product = first_three.prod(axis=1)
    f = s @ theta + section.beta * product
    environment = test.environment[0]
    predictors = {LEAST_SQUARES: s @ slope, STRUCTURAL: f}
    for name, outputs in predictors.items():
        squares = (outputs - y) ** 2
        errors = []
        for e in range(len(section.test_r)):
            here = environment == e
            errors.append(squares[here].mean())
        mean = np.mean(errors)
        expected = rows[name]["mean_error"]
        assert expected == pytest.approx(mean, rel=0.06)


def test_spread_is_over_test_environments() -> None:
    test_r = [-1.2, -1.5, -3.0]
    rows = overall("regression", {"test_r": test_r})
    single = []
    for r in test_r:
        options = {"test_r": [r]}
        single.append(overall("regression", options))
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
lengths = st.floats(0.2, 5)
sizes = st.tuples(st.integers(1, 10), lengths, lengths)


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
    right = stats.norm.cdf(both)
    wrong = stats.norm.cdf(difference)
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
        of_last = np.array([v])
        kept = selection_probability(point, of_last, r)
        density = stats.norm.pdf(v, 0, tau)
        return float(kept[0] * density)

    kink = np.sign(r) * y
    reach = 12 * tau
    inside = [kink] if abs(kink) < reach else None
    exact = {
        "points": inside,
        "epsabs": 0.0,  # tiny values, too
        "epsrel": 1e-9,
        "limit": 400,
    }
    expected, _ = integrate.quad(integrand, -reach, reach, **exact)
    label = np.array([y])
    (got,) = kept_given_y(label, r, tau)
    (of_opposite_r,) = kept_given_y(label, -r, tau)
    assert got == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert got == pytest.approx(of_opposite_r)


@pytest.mark.parametrize("r", [1.5, 1.9, 2.3])
def test_predicting_zero_and_least_squares_on_s(r: float) -> None:
    """The figures that put the paper's Table 3, where 3.375 is the best, into
    proportion."""
    data = RegressionData(r=r)
    found = reference_errors(data)
    reference = {name: errors.mean() for name, errors in found.items()}
    assert reference["zero"] == pytest.approx(2.17, abs=0.03)
    assert reference["least squares on S"] == pytest.approx(1.53, abs=0.02)
    assert reference["structural function"] == pytest.approx(0.885, abs=0.01)
