"""Where KerHRM detects nothing or does not help, ERM predicts; its price is told."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kerhrm import KerHRMClassifier, KerHRMRegressor, Problem, TangentRidge
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.estimators import HeterogeneityNotDetectedWarning, PriceWarning
from kerhrm.estimators._guard import break_even, not_better, price
from kerhrm.estimators._report import compare, doubts
from kerhrm.heterogeneity.test import test_problem
from kerhrm.options import Task
from tests.unit.estimators.conftest import SMALL, flipped_labels, flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")


def test_where_nothing_is_detected_it_is_erm(null: Any) -> None:
    with pytest.warns(HeterogeneityNotDetectedWarning, match="predicting as ERM"):
        model = KerHRMRegressor(**SMALL).fit(null.x, null.y)
    erm = TangentRidge(task="regression", network=(64,), random_state=3).fit(
        null.x, null.y
    )
    assert_array_equal(model.predict(null.x), erm.predict(null.x))
    assert (model.predictor_, model.heterogeneity_.detected) == ("erm", False)
    assert model.environment_proba_.shape == (300, 1)
    assert set(model.environments_) == {0}
    assert (model.selected_["iteration"], model.history_) == (0, [])
    assert_array_equal(model.predict_environment_proba(null.x, null.y), 1)


def test_a_fallback_repeats_no_warning(null: Any) -> None:
    """The table is read once, whatever predicts in the end."""
    twice = np.repeat(null.x[:150], 2, axis=0)
    given = {"validation": (5 * null.x[:60], null.y[:60])}
    model = KerHRMRegressor(**SMALL)
    with pytest.warns(UserWarning) as told:  # noqa: PT030  (all of them)
        model.fit(twice, null.y, **given)
    assert model.predictor_ == "erm"
    texts = [str(warning.message) for warning in told]
    for words in ("have the inputs of another", "lie outside", "predicting as ERM"):
        assert sum(words in text for text in texts) == 1
    assert len(texts) == 3


def test_a_fallback_after_auxiliary_columns_is_erm_without_them(null: Any) -> None:
    """Rows that only these columns tell apart are equal for ERM."""
    rows = np.repeat(np.arange(150), 2)
    x = null.x[rows]
    y = null.y[rows]
    z = np.arange(300) % 2
    with pytest.warns(HeterogeneityNotDetectedWarning, match="predicting as ERM"):
        model = KerHRMRegressor(**SMALL).fit(x, y, auxiliary=z)
    erm = TangentRidge(task="regression", network=(64,), random_state=3).fit(x, y)
    assert_array_equal(model.predict(x), erm.predict(x))


def test_where_it_does_not_help_it_is_erm(slopes: Any) -> None:
    """Also where environments are detected: a twentieth of ERM's error is asked for."""
    detected = KerHRMRegressor(**SMALL).fit(slopes.x, slopes.y)
    assert detected.predictor_ == "linear"
    report = detected.report_
    assert list(report.columns) == [
        "rows",
        "KerHRM",
        "ERM",
        "least squares",
        "constant",
    ]
    model = KerHRMRegressor(**SMALL, options={"margin": 0.95})
    with pytest.warns(HeterogeneityNotDetectedWarning, match="not better than ERM"):
        model.fit(slopes.x, slopes.y)
    assert model.predictor_ == "erm"
    assert_allclose(model.report_, report)
    # what was found stays readable, and the report says why ERM predicts
    for name in ("environment_proba_", "environments_"):
        assert_array_equal(getattr(model, name), getattr(detected, name))
    new = flipped_slopes(50, 7)
    proba = model.predict_environment_proba(new.x, new.y)
    assert_array_equal(proba, detected.predict_environment_proba(new.x, new.y))
    told = model.report(new.x, new.y)
    assert [*told.errors.index] == ["all rows", "environment 0", "environment 1"]
    assert told.facts["predicts by"].startswith("ERM: KerHRM is not better than ERM")
    assert told.facts["environments"].endswith(
        "of the rows; found, but they do not help"
    )


def test_it_can_be_fitted_anyway(null: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeterogeneityNotDetectedWarning)
        warnings.filterwarnings("error", message=".*predicting as ERM")
        model = KerHRMRegressor(**SMALL, if_not_detected="fit", if_not_better="fit")
        model.fit(null.x, null.y)
    assert (model.predictor_, model.heterogeneity_.detected) == ("linear", False)


def test_few_rows_are_not_tested_and_are_erm(slopes: Any) -> None:
    with pytest.warns(HeterogeneityNotDetectedWarning, match="fewer than 80 rows"):
        model = KerHRMRegressor(**SMALL).fit(slopes.x[:50], slopes.y[:50])
    assert model.predictor_ == "erm"


def test_copies_of_rows_are_tested_once(null: Any) -> None:
    """However often rows are repeated, the test has no more to say than
    of one of each."""
    few = HeterogeneityOptions(folds=2, n_init=1, em_max_iter=10, em_tol=1e-2)

    def tested(rows: np.ndarray) -> Any:
        x = torch.from_numpy(null.x[rows])
        y = torch.from_numpy(null.y[rows])
        nothing = torch.zeros_like(y)
        s = torch.ones(3, dtype=torch.float64)
        return test_problem(
            Problem(x, s, x, nothing, nothing, y, y, "regression", 3), x, few
        )

    once = tested(np.arange(100))
    again = tested(np.repeat(np.arange(100), np.arange(100) % 3 + 1))
    assert once.p_value == again.p_value
    assert_allclose([again.gain, *again.null], [once.gain, *once.null])
    assert np.isnan(tested(np.repeat(range(70), 2)).p_value)


@given(
    st.lists(st.floats(0, 10), min_size=2, max_size=4),
    st.one_of(st.none(), st.floats(0, 0.9)),
    st.integers(0, 100),
    st.sampled_from([1, 2, 19, 20, 400]),
    st.sampled_from(["regression", "classification"]),
)
def test_a_model_that_does_not_help_never_predicts(
    errors: list[float], margin: float | None, seed: int, n_columns: int, task: Task
) -> None:
    random = np.random.default_rng(seed)
    names = ["all rows", *(f"environment {j}" for j in range(len(errors) - 1))]
    table = pd.DataFrame(
        {"KerHRM": errors, "ERM": 1.0, "constant": 5 * random.random(len(errors))}
    )
    reason = not_better(table.set_axis(names), task, margin, n_columns)
    labels = task == "classification"
    beside = 0.95 if labels else 1.1
    limits = table["constant"] * [1, *[beside] * (len(errors) - 1)]
    left = 1 - (0.1 if margin is None else margin)
    invariant = True
    if labels and margin is None:
        invariant = n_columns > 1
        if errors[0] > 1.01:
            share = (table["KerHRM"] / table["constant"])[1:].max()
            left = 0.7 if share <= 0.4 else min(0.5, 0.9 - share / 2)
            invariant &= n_columns >= 20 or share <= 0.6
        if errors[0] >= 1.2:
            invariant &= bool(table["constant"][1] <= 2.5)
    worst = max(errors[1:])
    helps = (table["KerHRM"] <= limits).all() and worst < left and invariant
    assert (reason is None) == helps


def test_a_regression_may_be_worse_than_the_constant_by_chance() -> None:
    table = pd.DataFrame(
        {"KerHRM": [1.0, 1.3], "ERM": [0.8, 2.0], "constant": [2.0, 1.0]},
        ["all rows", "environment 0"],
    )
    doubt = pd.Series([0.1, 0.25], table.index)
    assert "worse than a constant" in str(not_better(table, "regression", None, 5))
    assert not_better(table, "regression", None, 5, doubt) is None


def test_the_price_is_paid_back_above_the_break_even_share() -> None:
    table = pd.DataFrame(
        {"rows": [100, 80, 20], "KerHRM": [0.2, 0.2, 0.2], "ERM": [0.16, 0.0, 0.8]},
        ["all rows", "environment 0", "environment 1"],
    )
    # s .2 + (1 - s) .2 = s .8 + (1 - s) 0
    assert break_even(table, "environment 1") == pytest.approx(0.25)
    text = str(price(table))
    assert "0.2 against ERM's 0.16" in text
    assert "more than 25% of the rows are of environment 1 (20% are now)" in text
    assert price(table.assign(ERM=0.3)) is None


def test_the_price_of_labels_is_told() -> None:
    labels = flipped_labels(600, 0, share=0.1)
    with pytest.warns(PriceWarning, match="options={'margin': 1} pred"):
        model = KerHRMClassifier(**SMALL, if_not_better="fit").fit(labels.x, labels.y)
    told = model.report(labels.x, labels.y).facts["price"]
    assert "against ERM's" in told
    erm = KerHRMClassifier(**SMALL, options={"margin": 1.0})
    with pytest.warns(HeterogeneityNotDetectedWarning):
        assert erm.fit(labels.x, labels.y).predictor_ == "erm"


def test_the_standard_error_is_that_of_a_mean() -> None:
    random = np.random.default_rng(0)
    y, f, g = random.normal(size=(3, 50))
    outputs = {"KerHRM": f, "constant": g}
    member = (np.arange(50) < 20).astype(float)
    found = doubts(outputs, y, {"a": member}, "regression")
    for name, rows in {"all rows": slice(None), "a": slice(20)}.items():
        difference = ((f - y) ** 2 - (g - y) ** 2)[rows]
        assert found[name] == pytest.approx(difference.std() / len(difference) ** 0.5)


def test_errors_are_means_over_memberships() -> None:
    y = np.array([1.0, -1.0, 1.0])
    f = np.array([0.5, 0.5, 2.0])
    groups = {"a": np.array([1.0, 0.5, 0.0]), "nobody": np.zeros(3)}
    table = compare({"f": f}, y, groups, "regression")
    assert table["f"].to_dict() == pytest.approx(
        {"all rows": 3.5 / 3, "a": (0.25 + 0.5 * 2.25) / 1.5}
    )
    labels = compare({"f": f}, y, groups, "classification")
    assert labels["f"].to_dict() == pytest.approx({"all rows": 1 / 3, "a": 0.5 / 1.5})
