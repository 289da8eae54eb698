"""Reference rows against the data themselves."""

import math
from typing import Any

import numpy as np
import pytest

from kerhrm.config.data import ClassificationData, RegressionData
from kerhrm.data import classification, regression
from kerhrm.reporting.closed_forms import closed_forms
from kerhrm.reporting.methods import METHODS

BAYES, CEILING = "ref: Bayes pooled", "ref: invariant ceiling"
LEAST_SQUARES, STRUCTURAL = "ref: least squares on S", "ref: structural function"


@pytest.mark.parametrize("generator", ["colored_mnist", "houses"])
def test_nothing_is_known_of_real_data(generator: str) -> None:
    assert closed_forms({"generator": generator}) == {}


def test_rows_are_reference_rows_of_the_tables() -> None:
    rows = closed_forms({"generator": "classification"}) | closed_forms({"generator": "regression"})
    known = {m.name: m for m in METHODS.values()}
    assert {known[name].track for name in rows} == {"reference"}
    assert {known[name].rule for name in rows} == {"none"}


def test_classification_at_the_papers_constants() -> None:
    rows = closed_forms({"generator": "classification", "r2": 0.7})
    assert list(rows) == [BAYES, CEILING]
    assert rows[BAYES]["train_acc"] == pytest.approx(0.848, abs=5e-4)
    assert rows[BAYES]["test_acc"] == pytest.approx(0.479, abs=5e-4)
    assert rows[CEILING]["train_acc"] == rows[CEILING]["test_acc"]
    assert rows[CEILING]["test_acc"] == pytest.approx(0.772, abs=5e-4)
    for row in rows.values():
        assert row["generalisation_gap"] == pytest.approx(row["test_acc"] - row["train_acc"])


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"noise_unit": "variance"},
        {"sigma_s": 1.5, "sigma_v": 1.2, "d": 3, "r1": 0.95, "r2": 0.6, "r_test": 0.3},
    ],
)
def test_classification_by_simulation(changed: dict[str, Any]) -> None:
    """The Bayes rule itself, on points of the generator."""
    options = {"r2": 0.8, "scramble": "identity", **changed}
    n = 20_000
    data = classification.generate(
        [0], n_train_per_environment=n, n_validation_per_environment=1, n_test=2 * n, **options
    )
    section = ClassificationData(generator="classification", **options)
    root = section.noise_unit == "variance"
    sigma_s = section.sigma_s**0.5 if root else section.sigma_s
    sigma_v = section.sigma_v**0.5 if root else section.sigma_v
    pooled = (section.r1 + section.r2) / 2

    def density(v: np.ndarray, a: int) -> np.ndarray:  # log p(V | A) up to a constant
        return np.asarray(-((v - a) ** 2).sum(-1) / (2 * sigma_v**2))

    rows = closed_forms(section.model_dump())
    for part, metric in ((data.train, "train_acc"), (data.test, "test_acc")):
        x, y = part.x[0].astype(float), part.y[0]
        s, v = x[:, : section.d], x[:, section.d :]
        agree, differ = math.log(pooled), math.log(1 - pooled)
        plus, minus = density(v, 1), density(v, -1)
        log_odds = 2 * s.sum(-1) / sigma_s**2
        log_odds += np.logaddexp(agree + plus, differ + minus)
        log_odds -= np.logaddexp(differ + plus, agree + minus)
        for name, rule in ((BAYES, log_odds), (CEILING, s.sum(-1))):
            found = np.mean((rule > 0) == (y > 0))
            assert rows[name][metric] == pytest.approx(found, abs=0.01)


def test_the_scrambling_matrix_is_no_matter() -> None:
    for generator, keys in (("classification", {"scramble": "per_seed"}),
                            ("regression", {"scenario": 1})):  # fmt: skip
        plain, changed = {"generator": generator}, {"generator": generator, **keys}
        assert closed_forms(plain) == closed_forms(changed)


@pytest.mark.parametrize(
    "changed",
    [{}, {"constants": "paper", "r": 1.9}, {"beta": 1.0, "n_s": 4, "test_r": [-1.5, -2.5]}],
)
def test_regression_by_simulation(changed: dict[str, Any]) -> None:
    """Least squares on many points of S, and f itself on points without scrambling."""
    options = {"r": 1.5, "scenario": 1, **changed}
    section = RegressionData(generator="regression", n_train=(10_000, 1000), **options)
    rows = closed_forms(section.model_dump())
    assert list(rows) == [LEAST_SQUARES, STRUCTURAL]
    data = regression.generate([0], n_train=(10_000, 1000), n_validation=2, n_test=6000, **options)
    n_s = section.n_s
    s, y = data.train.x[0, :, :n_s].astype(float), data.train.y[0].astype(float)
    slope = np.linalg.lstsq(s, y, rcond=None)[0]
    s, y = data.test.x[0, :, :n_s].astype(float), data.test.y[0].astype(float)
    theta = np.resize(regression.CONSTANTS[section.constants].theta, n_s)
    f = s @ (theta * (-1.0) ** np.arange(n_s)) + section.beta * s[:, 0] * s[:, 1] * s[:, 2]
    for name, outputs in ((LEAST_SQUARES, s @ slope), (STRUCTURAL, f)):
        environment = data.test.environment[0]
        errors = [
            float(np.mean((outputs - y)[environment == e] ** 2)) for e in range(len(section.test_r))
        ]
        assert rows[name]["mean_error"] == pytest.approx(np.mean(errors), rel=0.06)


def test_spread_is_over_test_environments() -> None:
    test_r = [-1.2, -1.5, -3.0]
    rows = closed_forms({"generator": "regression", "test_r": test_r})
    single = [closed_forms({"generator": "regression", "test_r": [r]}) for r in test_r]
    for name, row in rows.items():
        errors = [s[name]["mean_error"] for s in single]
        assert row["mean_error"] == pytest.approx(np.mean(errors))
        assert row["std_error"] == pytest.approx(np.std(errors, ddof=1))
        assert all(math.isnan(s[name]["std_error"]) for s in single)
