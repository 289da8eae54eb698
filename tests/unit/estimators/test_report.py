"""What a fitted KerHRM says of itself, the worst group's score, K, and a refit that
fails."""

import copy
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from refusals import refusal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from kerhrm import (
    ERM,
    KerHRMClassifier,
    KerHRMRegressor,
    table_encoder,
    worst_group_score,
)
from kerhrm.estimators._start import GivenRows, learn_units, points_of, read_rows
from tests.unit.estimators.conftest import flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
SMALL: dict[str, Any] = {
    "k": 5,
    "n_init": 2,
    "network": (64,),
    "random_state": 3,
}


def root_mean_square(errors: np.ndarray) -> float:
    """With the precision of float32."""
    mean_square = np.mean(errors**2)
    return pytest.approx(mean_square**0.5, 1e-4)


@pytest.fixture
def of_labels(labels: Any) -> KerHRMClassifier:
    """A classifier of the flipped labels."""
    model = KerHRMClassifier(**SMALL)
    return model.fit(labels.x, labels.y)


def test_a_report_has_the_errors_in_the_target_s_unit(slopes: Any) -> None:
    x_train = slopes.x[:400]
    y_train = slopes.y[:400]
    x = slopes.x[400:]
    y = slopes.y[400:]
    turned = slopes.hidden[400:]
    model = KerHRMRegressor(**SMALL)
    model.fit(x_train, y_train)
    names = np.where(turned, "<b>turned", "plain")
    groups = pd.Series(names, name="slope")
    report = model.report(x, y, groups)
    columns = ["rows", "KerHRM", "ERM", "least squares", "constant"]
    assert report.errors.columns.tolist() == columns

    error = y - model.predict(x)
    of_all_rows = report.errors.loc["all rows"]
    assert of_all_rows["KerHRM"] == root_mean_square(error)
    of_group = report.errors.loc["slope <b>turned"]
    assert of_group["rows"] == turned.sum()
    assert of_group["KerHRM"] == root_mean_square(error[turned])

    again = clone(model)
    rows = read_rows(again, GivenRows(x_train, y_train))
    _, positions = points_of(again, rows, learn_units(again, rows))
    train = np.flatnonzero(positions < 320)
    rows = slopes.x[train]
    least_squares = LinearRegression()
    least_squares.fit(rows, slopes.y[train])
    predictions = least_squares.predict(x[turned])
    residuals = y[turned] - predictions
    assert of_group["least squares"] == root_mean_square(residuals)

    of_environment = report.errors.loc["environment 1"]
    proba = model.predict_environment_proba(x, y)
    membership = proba[:, 1]
    mean_square = np.average(error**2, weights=membership)
    error_of_environment = np.sqrt(mean_square)
    assert of_environment["KerHRM"] == pytest.approx(error_of_environment, 1e-4)

    assert "environments detected (p = " in report.facts["test"]
    assert report.facts["assumed"]
    assert "<b>" not in report.to_html()
    assert "slope <b>turned" in str(report)
    assert_frame_equal(report.to_frame(), report.errors)
    copy_of_model = copy.deepcopy(model)
    of_copy = copy_of_model.report(x, y, groups)
    assert_frame_equal(of_copy.errors, report.errors)


def test_a_report_of_labels_and_of_a_fallback(labels: Any, null: Any) -> None:
    x = labels.x[300:]
    y = labels.y[300:]
    x_train = labels.x[:300]
    model = KerHRMClassifier(**SMALL)
    model.fit(x_train, labels.y[:300])
    report = model.report(x, y)
    is_wrong = model.predict(x) != y
    wrong = np.mean(is_wrong)
    error = report.errors.at["all rows", "KerHRM"]
    assert error == pytest.approx(wrong)
    assert "cannot be tested" in report.facts["test"]

    fallback = KerHRMRegressor(**SMALL)
    fallback.fit(null.x, null.y)
    report = fallback.report(null.x, null.y)
    assert report.errors.index.tolist() == ["all rows"]
    of_all_rows = report.errors.loc["all rows"]
    assert of_all_rows["KerHRM"] == of_all_rows["ERM"]
    reason = report.facts["predicts by"]
    assert reason.startswith("ERM: no environments are detected")


@pytest.mark.parametrize(
    ("groups", "words"),
    [(["a"], r"shape \(1,\) for 400"), ([None] * 400, "are missing in 400 rows")],
)
def test_groups_that_are_refused(
    groups: Any, words: str, labels: Any, of_labels: KerHRMClassifier
) -> None:
    with refusal(words):
        of_labels.report(labels.x, labels.y, groups)


def test_of_many_groups_the_worst_are_printed(
    labels: Any, of_labels: KerHRMClassifier
) -> None:
    groups = np.arange(len(labels.x)) // 10
    report = of_labels.report(labels.x, labels.y, groups=groups)
    printed = str(report)
    lines = printed.splitlines()
    shown = []
    for name in report.errors.index:
        has_line = [line.startswith(f"{name} ") for line in lines]
        if any(has_line):
            shown.append(name)
    n_left_out = len(report.errors) - len(shown)
    assert f"and {n_left_out} groups more" in printed
    assert f"and {n_left_out} groups more" in report.to_html()
    left_out = report.errors.drop(index=shown)
    others = ("all", "env")
    of_groups = [name for name in shown if not name.startswith(others)]
    assert len(of_groups) == 12
    largest_left_out = left_out["ERM"].max()
    errors_of_groups = report.errors.loc[of_groups, "ERM"]
    assert largest_left_out <= errors_of_groups.min()


def test_groups_that_are_called_as_environments_are_groups(
    labels: Any, of_labels: KerHRMClassifier
) -> None:
    numbers = np.arange(len(labels.x)) % 20
    groups = pd.Series(numbers, name="environment")
    report = of_labels.report(labels.x, labels.y, groups=groups)
    assert "group environment 19" in report.errors.index
    assert "environment 19" not in report.errors.index
    assert "and 8 groups more" in str(report)
    of_thirteen = numbers % 13
    thirteen = of_labels.report(labels.x, labels.y, groups=of_thirteen)
    assert "and 1 group more" in str(thirteen)


def test_the_worst_group_decides(labels: Any) -> None:
    n = 400
    index = np.arange(n)[::-1]
    names = ["stable", "spurious"]
    X = pd.DataFrame(labels.x.copy(), columns=names, index=index)
    groups = pd.Series(labels.hidden, index=index)
    scoring = worst_group_score(groups)
    folds = cross_validate(
        LogisticRegression(),
        X,
        labels.y,
        scoring=scoring,
        return_indices=True,
    )
    test_rows = folds["indices"]["test"]
    for score, rows in zip(folds["test_score"], test_rows, strict=True):
        train = np.setdiff1d(np.arange(n), rows)
        rows_of_training = X.iloc[train]
        model = LogisticRegression()
        model.fit(rows_of_training, labels.y[train])
        predicted = model.predict(X.iloc[rows])
        right = predicted == labels.y[rows]
        hidden = labels.hidden[rows]
        accuracy_of_hidden = right[hidden].mean()
        accuracy_of_others = right[~hidden].mean()
        worst = min(accuracy_of_hidden, accuracy_of_others)
        assert score == pytest.approx(worst)

    rng = np.random.default_rng(0)
    noise = rng.normal(size=n)
    X["stable"] += pd.Series(noise, index)
    selections = []
    for name in names:
        selected = {"items": [name]}
        selections.append(FunctionTransformer(pd.DataFrame.filter, kw_args=selected))
    steps = [("select", "passthrough"), ("model", LogisticRegression())]
    columns = Pipeline(steps)
    grid = {"select": selections}
    cases = [(scoring, 0), (None, 1)]
    for score, best in cases:
        search = GridSearchCV(columns, grid, scoring=score)
        search.fit(X, labels.y)
        assert search.best_index_ == best

    with refusal("give a DataFrame"):
        scoring(search, labels.x, labels.y)
    with refusal("X has no rows; give one row or more"):
        scoring(search, X[:0], labels.y[:0])
    with refusal("400 rows of X but 399 of y; give one target for each row"):
        scoring(search, X, labels.y[1:])
    scoring_of_fewer_rows = worst_group_score(groups[1:])
    with refusal("are missing in 1 row"):
        scoring_of_fewer_rows(search, X, labels.y)
    with refusal("must be a pandas Series"):
        worst_group_score(labels.hidden)


def test_the_number_of_environments_is_chosen() -> None:
    wide = SMALL | {"network": (256,), "n_environments": None}
    slopes = flipped_slopes(900, 0)
    model = KerHRMRegressor(**wide)
    model.fit(slopes.x, slopes.y)
    assert model.environment_proba_.shape[1] == 2
    random = np.random.default_rng(0)
    three_slopes = np.array([-6.0, 0.0, 6.0])
    environment = random.integers(3, size=900)
    slope = three_slopes[environment]
    x = random.normal(size=(900, 2))
    noise = 0.3 * random.normal(size=900)
    y = x[:, 0] + slope * x[:, 1] + noise
    kept = {"pretest": False, "if_not_better": "fit"}
    three = KerHRMRegressor(**wide | kept)
    three.fit(x, y)
    assert three.environment_proba_.shape[1] == 3

    random = np.random.default_rng(1)
    x = random.normal(size=(900, 2))
    noise = random.normal(size=900)
    y = x[:, 0] + noise
    one = KerHRMRegressor(**wide | kept)
    one.fit(x, y)
    assert one.environment_proba_.shape[1] == 1
    report = one.report(x, y)
    reason = report.facts["predicts by"]
    assert reason.startswith("ERM: one environment explains")


def test_columns_as_they_come(slopes: Any) -> None:
    X = pd.DataFrame(slopes.x.copy(), columns=["a", "b", "c"])
    is_positive = X["a"] > 0
    X["text"] = np.where(is_positive, "up", None)
    is_large = X["b"] > 0
    kinds = np.where(is_large, "x", "y")
    X["kind"] = pd.Categorical(kinds)
    days = pd.to_timedelta(np.arange(500), "D")
    X["day"] = pd.Timestamp("2020-01-01") + days
    X["flag"] = X["c"] > 0
    truth = [True, False, None, True, None]
    is_maybe = truth * 100
    X["maybe"] = pd.array(is_maybe, dtype="boolean")
    X.loc[::7, "c"] = np.nan
    X.loc[::9, "day"] = pd.NaT
    encoder = table_encoder().fit(X)
    encoded = encoder.transform(X)
    numbers = encoded.to_numpy(float)
    assert np.isfinite(numbers).all()
    assert encoded.loc[1, "day"] == 18263  # days from 1970 to 2020, and one
    assert encoded["missingindicator_c"].sum() == 72
    of_text = encoded.filter(like="text")
    texts_per_row = of_text.sum(axis=1)
    assert texts_per_row.eq(1).all()

    model = make_pipeline(table_encoder(), KerHRMRegressor(**SMALL))
    y = slopes.y[:400]
    model.fit(X[:400], y)
    new = X[400:].assign(text="never seen")
    predictions = model.predict(new)
    assert np.isfinite(predictions).all()


@pytest.mark.parametrize(
    "model", [KerHRMClassifier(**SMALL), ERM(network=(8,), random_state=0)]
)
def test_a_refit_that_fails_leaves_the_old_fit(model: Any, labels: Any) -> None:
    model = clone(model)
    model.fit(labels.x, labels.y)
    expected = model.predict(labels.x)
    names = sorted(vars(model))
    one_column = labels.x[:, :1]
    for x, y, words in (
        (one_column, labels.y**2, "the target y is constant"),
        (labels.x * np.nan, labels.y, "missing"),
        (labels.x, None, "y is None"),
    ):
        with refusal(words):
            model.fit(x, y)
        assert sorted(vars(model)) == names
        assert_array_equal(model.predict(labels.x), expected)
    model.set_params(network=(8, 0))
    first_column = labels.x[:, :1]
    with refusal("network"):
        model.fit(first_column, labels.y)
    assert_array_equal(model.predict(labels.x), expected)


def test_without_a_test_the_report_says_why() -> None:
    """Of a numeric target none was asked for; two labels cannot be tested."""
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 2))
    noise = 0.3 * random.normal(size=120)
    y = x[:, 0] + noise
    is_positive = y > 0
    small = {
        "k": 2,
        "n_init": 1,
        "n_iterations": 1,
        "network": (4,),
        "random_state": 0,
    }
    of_numbers = KerHRMRegressor(**small, pretest=False)
    of_numbers.fit(x, y)
    of_labels = KerHRMClassifier(**small)
    of_labels.fit(x, is_positive)
    facts_of_numbers = of_numbers.report(x, y).facts
    facts_of_labels = of_labels.report(x, is_positive).facts
    assert facts_of_numbers["test"] == "none; the parameters asked for none"
    assert "two labels cannot be tested" in facts_of_labels["test"]


def test_shares_of_environments_count_rows_by_their_weight(slopes: Any) -> None:
    """A weight of two is a row twice, in the report as in the fit."""
    weights = np.where(slopes.hidden, 2, 1)
    twice_x = np.repeat(slopes.x, weights, axis=0)
    twice_y = np.repeat(slopes.y, weights)
    weighted = KerHRMRegressor(**SMALL)
    weighted.fit(slopes.x, slopes.y, sample_weight=weights)
    repeated = KerHRMRegressor(**SMALL)
    repeated.fit(twice_x, twice_y)
    facts = weighted.report(slopes.x, slopes.y).facts
    facts_of_repeated = repeated.report(twice_x, twice_y).facts
    assert weighted.predictor_ == "linear"
    assert facts["environments"] == facts_of_repeated["environments"]
    plain = weighted.environment_proba_.mean(0)
    unweighted = ", ".join(f"{share:.0%}" for share in plain)
    assert not facts["environments"].startswith(unweighted)


def test_errors_of_a_refused_fit_are_in_the_unit_of_its_rows(slopes: Any) -> None:
    """ERM, which predicts then, is of all rows, and has another unit."""
    x = slopes.x[:200]
    y = slopes.y[:200]
    model = KerHRMRegressor(**SMALL, pretest=False, options={"margin": 0.95})
    model.fit(x, y)
    assert model.predictor_ == "erm"
    again = clone(model)
    rows = read_rows(again, GivenRows(x, y))
    _, positions = points_of(again, rows, learn_units(again, rows))
    unit = y[positions < 160].std()
    assert abs(unit / y.std() - 1) > 3e-3
    refused = model.report(x, y).facts["refused"]
    told = re.search(r"is (\S+) against ERM's (\S+) on all of them", refused)
    assert told is not None
    for name, error in zip(("kerhrm", "erm"), told.groups(), strict=True):
        mean_square = np.mean(model._losses[name])
        expected = unit * mean_square**0.5
        assert float(error) == pytest.approx(expected, rel=1e-3)
