"""Where KerHRM detects nothing or does not help, ERM predicts; its price is told."""

import re
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
from kerhrm.estimators._guard import not_better, price
from kerhrm.heterogeneity.test import test_problem
from kerhrm.options import Task
from tests.unit.estimators.conftest import SMALL, flipped_labels, flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")


def unfitted_erm() -> TangentRidge:
    """ERM in closed form, with the settings of ``SMALL``."""
    return TangentRidge(task="regression", network=(64,), random_state=3)


def erm_of(table: Any) -> TangentRidge:
    return unfitted_erm().fit(table.x, table.y)


def test_where_nothing_is_detected_it_is_erm(null: Any) -> None:
    x = null.x
    model = KerHRMRegressor(**SMALL)
    with pytest.warns(HeterogeneityNotDetectedWarning, match="predicting as ERM"):
        model.fit(x, null.y)
    erm = erm_of(null)
    expected = erm.predict(x)
    assert_array_equal(model.predict(x), expected)
    assert model.predictor_ == "erm"
    assert not model.heterogeneity_.detected
    assert model.environment_proba_.shape == (300, 1)
    assert set(model.environments_) == {0}
    assert model.selected_["iteration"] == 0
    assert model.history_ == []
    proba = model.predict_environment_proba(x, null.y)
    assert_array_equal(proba, 1)


def test_a_fallback_repeats_no_warning(null: Any) -> None:
    """The table is read once, whatever predicts in the end."""
    half = null.x[:150]
    twice = np.repeat(half, 2, axis=0)
    x_validation = 5 * null.x[:60]
    y_validation = null.y[:60]
    held_out = (x_validation, y_validation)
    model = KerHRMRegressor(**SMALL)
    with pytest.warns(UserWarning) as caught:  # noqa: PT030  (all of them)
        model.fit(twice, null.y, validation=held_out)
    assert model.predictor_ == "erm"
    texts = [str(warning.message) for warning in caught]
    expected = ("have the inputs of another", "lie outside", "predicting as ERM")
    for words in expected:
        warned = [text for text in texts if words in text]
        assert len(warned) == 1
    assert len(texts) == 3


def test_a_fallback_after_auxiliary_columns_is_erm_without_them(null: Any) -> None:
    """Rows that only these columns tell apart are equal for ERM."""
    rows = np.repeat(np.arange(150), 2)
    x = null.x[rows]
    y = null.y[rows]
    z = np.arange(300) % 2
    model = KerHRMRegressor(**SMALL)
    with pytest.warns(HeterogeneityNotDetectedWarning, match="predicting as ERM"):
        model.fit(x, y, auxiliary=z)
    erm = unfitted_erm()
    erm.fit(x, y)
    expected = erm.predict(x)
    assert_array_equal(model.predict(x), expected)


def test_where_it_does_not_help_it_is_erm(slopes: Any) -> None:
    """Also where environments are detected: a twentieth of ERM's error is asked for."""
    detected = KerHRMRegressor(**SMALL)
    detected.fit(slopes.x, slopes.y)
    assert detected.predictor_ == "linear"
    report = detected.report_
    columns = ["rows", "KerHRM", "ERM", "least squares", "constant"]
    assert report.columns.tolist() == columns
    model = KerHRMRegressor(**SMALL, options={"margin": 0.95})
    with pytest.warns(HeterogeneityNotDetectedWarning, match="not better enough"):
        model.fit(slopes.x, slopes.y)
    assert model.predictor_ == "erm"
    assert_allclose(model.report_, report)
    # what was found stays readable, and the report says why ERM predicts
    assert_array_equal(model.environment_proba_, detected.environment_proba_)
    assert_array_equal(model.environments_, detected.environments_)
    new = flipped_slopes(50, 7)
    proba = model.predict_environment_proba(new.x, new.y)
    expected_proba = detected.predict_environment_proba(new.x, new.y)
    assert_array_equal(proba, expected_proba)
    of_new = model.report(new.x, new.y)
    rows = of_new.errors.index.tolist()
    assert rows == ["all rows", "environment 0", "environment 1"]
    reason = of_new.facts["predicts by"]
    assert reason.startswith("ERM: KerHRM is not better enough than ERM")
    times = re.search(
        r"environment is (.*) times ERM's, and not below 0.224 times$", reason
    )
    assert times is not None
    assert float(times[1]) > 0.224
    environments = of_new.facts["environments"]
    assert environments.endswith("membership; found, but they do not help")
    assert "worst environment" in of_new.facts["refused"]
    # ``predict`` is ERM's, and a table with the same errors twice would mislead
    assert "ERM (predict)" in str(of_new)
    assert of_new.errors["KerHRM"].equals(of_new.errors["ERM"])


def test_it_can_be_fitted_anyway(null: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeterogeneityNotDetectedWarning)
        warnings.filterwarnings("error", message=".*predicting as ERM")
        model = KerHRMRegressor(**SMALL, if_not_detected="fit", if_not_better="fit")
        model.fit(null.x, null.y)
    assert model.predictor_ == "linear"
    assert not model.heterogeneity_.detected


def test_few_rows_are_not_tested_and_are_erm(slopes: Any) -> None:
    model = KerHRMRegressor(**SMALL)
    first_rows = slopes.x[:50]
    with pytest.warns(HeterogeneityNotDetectedWarning, match="80 different rows"):
        model.fit(first_rows, slopes.y[:50])
    assert model.predictor_ == "erm"


def test_copies_of_rows_are_tested_once(null: Any) -> None:
    """However often rows are repeated, the test has no more to say than
    of one of each."""
    few = HeterogeneityOptions(
        folds=2,
        n_init=1,
        em_max_iter=10,
        em_tol=1e-2,
    )

    def tested(rows: np.ndarray) -> Any:
        x = torch.from_numpy(null.x[rows])
        y = torch.from_numpy(null.y[rows])
        nothing = torch.zeros_like(y)
        s = torch.ones(3, dtype=torch.float64)
        problem = Problem(
            x,
            s,
            x,
            nothing,
            nothing,
            y,
            y,
            task="regression",
            seed=3,
        )
        return test_problem(problem, x, few)

    rows = np.arange(100)
    once = tested(rows)
    times = rows % 3 + 1
    again = tested(np.repeat(rows, times))
    assert once.p_value == again.p_value
    statistics = [once.gain, *once.null]
    statistics_again = [again.gain, *again.null]
    assert_allclose(statistics_again, statistics)
    twice = np.repeat(range(70), 2)
    too_few = tested(twice)
    assert np.isnan(too_few.p_value)


some_errors = st.lists(st.floats(0, 10), min_size=2, max_size=4)


@given(
    some_errors,
    st.one_of(st.none(), st.floats(0, 0.9)),
    st.integers(0, 100),
    st.sampled_from([1, 2, 19, 20, 400]),
    st.sampled_from(["regression", "classification"]),
)
def test_a_model_that_does_not_help_never_predicts(
    errors: list[float],
    margin: float | None,
    seed: int,
    n_columns: int,
    task: Task,
) -> None:
    random = np.random.default_rng(seed)
    n_environments = len(errors) - 1
    names = ["all rows"]
    for j in range(n_environments):
        names.append(f"environment {j}")
    constant = 5 * random.random(len(errors))
    columns = {"KerHRM": errors, "ERM": 1.0, "constant": constant}
    table = pd.DataFrame(columns, index=names)
    reason = not_better(table, task, margin, n_columns)

    labels = task == "classification"
    factor = 0.95 if labels else 1.1
    limits = constant * [1, *[factor] * n_environments]
    left = 1 - (0.1 if margin is None else margin)
    invariant = True
    if labels and margin is None:
        invariant = n_columns > 1
        if errors[0] > 1.01:
            shares = table["KerHRM"] / table["constant"]
            share = shares[1:].max()
            left = min(0.5, 0.9 - share / 2)
            if share <= 0.4:
                left = 0.7
            invariant &= n_columns >= 20 or share <= 0.6
        if errors[0] >= 1.2:
            invariant &= bool(constant[1] <= 2.5)
    worst = max(errors[1:])
    is_within = table["KerHRM"] <= limits
    if not labels:  # ERM would be no better there
        is_within[1:] |= table["KerHRM"][1:] < table["ERM"][1:]
    helps = is_within.all() and worst < left and invariant
    assert (reason is None) == helps


def test_a_regression_may_be_worse_than_the_constant_by_chance() -> None:
    rows = ["all rows", "environment 0", "environment 1"]
    errors = {
        "KerHRM": [1.0, 1.3, 1.0],
        "ERM": [0.8, 1.2, 2.0],
        "constant": [2.0, 1.0, 3.0],
    }
    table = pd.DataFrame(errors, rows)
    reason = not_better(table, "regression", None, 5)
    told = "worse than a constant (environment 0: 1.1 times the constant's error)"
    assert told in str(reason)
    doubt = pd.Series([0.1, 0.25, 0.1], rows)
    reason_with_doubt = not_better(table, "regression", None, 5, doubt)
    assert reason_with_doubt is None


def test_numbers_that_hardly_vary_in_an_environment_are_no_reason_for_erm() -> None:
    """A constant is good there, and ERM the worst of the three; labels stay refused."""
    errors = {
        "KerHRM": [1.0, 1.3],
        "ERM": [0.8, 2.8],
        "constant": [3.0, 1.0],
    }
    table = pd.DataFrame(errors, ["all rows", "environment 0"])
    assert not_better(table, "regression", None, 5) is None
    reason = not_better(table / 10, "classification", None, 50)
    assert "KerHRM is worse than a constant" in str(reason)
    beside = table.assign(KerHRM=[1.0, 0.98])
    reason = not_better(beside / 10, "classification", None, 50)
    assert "hardly better than a constant" in str(reason)
    for left in (0.0, 1e-70):  # of soft memberships
        alike = table.assign(constant=[3.0, left])
        reason = not_better(alike / 10, "classification", None, 50)
        assert str(reason).endswith("(environment 0: all its rows have one label)")


def test_a_flip_among_columns_that_correlate_is_used() -> None:
    """Where the slope flips the columns cancel, and the target hardly varies."""
    random = np.random.default_rng(0)
    common = random.normal(size=(3500, 1))
    own = random.normal(size=(3500, 5))
    x = 0.7**0.5 * common + 0.3**0.5 * own
    is_flipped = random.random(3500) < 0.2
    slope = np.where(is_flipped, -1, 1)
    y = x[:, 0] + slope * x[:, 1] + 0.5 * random.normal(size=3500)
    fitted, rest = slice(500), slice(500, None)
    flips = is_flipped[rest]

    def error(model: KerHRMRegressor | TangentRidge) -> float:
        model.fit(x[fitted], y[fitted])
        residuals = y[rest][flips] - model.predict(x[rest][flips])
        return float(np.mean(residuals**2))

    kerhrm = KerHRMRegressor(random_state=0)
    erm = TangentRidge(task="regression", random_state=0)
    assert error(kerhrm) < 0.8 * error(erm)
    assert kerhrm.predictor_ == "linear"


def test_the_price_is_paid_back_above_the_break_even_share() -> None:
    table = pd.DataFrame(
        {
            "rows": [100, 80, 20],
            "KerHRM": [0.2, 0.2, 0.2],
            "ERM": [0.16, 0.0, 0.8],
        },
        ["all rows", "environment 0", "environment 1"],
    )
    # s .2 + (1 - s) .2 = s .8 + (1 - s) 0
    text = str(price(table))
    assert "0.2 against ERM's 0.16" in text
    assert "more than 25% of the rows are of environment 1 (20% are now)" in text
    dear_erm = table.assign(ERM=0.3)
    assert price(dear_erm) is None


def test_the_price_is_paid_back_below_it_where_the_smallest_pays() -> None:
    table = pd.DataFrame(
        {
            "rows": [100, 80, 20],
            "KerHRM": [0.26, 0.1, 0.9],
            "ERM": [0.2, 0.2, 0.2],
        },
        ["all rows", "environment 0", "environment 1"],
    )
    # s .9 + (1 - s) .1 = .2
    text = str(price(table))
    assert "less than 12% of the rows are of environment 1 (20% are now)" in text


def test_no_share_is_told_where_erm_is_better_at_any() -> None:
    table = pd.DataFrame(
        {"rows": [100, 80, 20], "KerHRM": [0.3, 0.3, 0.3], "ERM": [0.2, 0.2, 0.2]},
        ["all rows", "environment 0", "environment 1"],
    )
    assert price(table) == "0.3 against ERM's 0.2 on rows like these"


def test_the_price_is_told_of_the_smallest_environment() -> None:
    """As the break-even share of a description, whichever is ERM's worst."""
    table = pd.DataFrame(
        {
            "rows": [100, 60, 30, 10],
            "KerHRM": [0.2, 0.2, 0.2, 0.2],
            "ERM": [0.16, 0.05, 0.4, 0.3],
        },
        ["all rows", "environment 0", "environment 1", "environment 2"],
    )
    # in the others KerHRM's error is larger by (60 * .15 - 30 * .2) / 90
    rest = 3 / 90
    share = rest / (rest + 0.1)
    text = str(price(table))
    assert f"more than {share:.0%} of the rows are of environment 2" in text


def test_the_price_of_labels_is_told() -> None:
    labels = flipped_labels(600, 0, share=0.1)
    x = labels.x
    y = labels.y
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    with pytest.warns(PriceWarning, match="options={'margin': 1} pred"):
        model.fit(x, y)
    report = model.report(x, y)
    message = report.facts["cost of KerHRM"]
    assert "against ERM's" in message

    for how in ("erm", "fit"):
        asked: dict[str, Any] = {"if_not_better": how, "options": {"margin": 1.0}}
        erm = KerHRMClassifier(**SMALL, **asked)
        with warnings.catch_warnings(action="error"):  # it was asked for
            erm.fit(x, y)
        assert erm.predictor_ == "erm"
    description = erm.describe(stability=0)
    assert "options={'margin': 1} asks for it" in description.verdict
