"""What a fitted KerHRM says of itself, the worst group's score, K, and a refit that
fails."""

import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
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
from kerhrm.errors import KerhrmError
from kerhrm.estimators._start import GivenRows, points_of, read_rows
from tests.unit.estimators.conftest import flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
SMALL: dict[str, Any] = {"k": 5, "n_init": 2, "network": (64,), "random_state": 3}


def test_a_report_has_the_errors_in_the_target_s_unit(slopes: Any) -> None:
    model = KerHRMRegressor(**SMALL).fit(slopes.x[:400], slopes.y[:400])
    x = slopes.x[400:]
    y = slopes.y[400:]
    groups = pd.Series(
        np.where(slopes.hidden[400:], "<b>turned", "plain"), name="slope"
    )
    report = model.report(x, y, groups)
    assert list(report.errors.columns) == [
        "rows",
        "KerHRM",
        "ERM",
        "least squares",
        "constant",
    ]
    error = y - model.predict(x)
    assert report.errors.at["all rows", "KerHRM"] == pytest.approx(
        np.mean(error**2) ** 0.5, 1e-4
    )
    turned = slopes.hidden[400:]
    found = report.errors.loc["slope <b>turned"]
    assert found["rows"] == turned.sum()
    assert found["KerHRM"] == pytest.approx(np.mean(error[turned] ** 2) ** 0.5, 1e-4)
    again = clone(model)
    rows = read_rows(again, GivenRows(slopes.x[:400], slopes.y[:400]))
    positions = points_of(again, rows)[1]
    train = np.flatnonzero(positions < 320)
    plain = LinearRegression().fit(slopes.x[train], slopes.y[train]).predict(x[turned])
    assert found["least squares"] == pytest.approx(
        np.mean((y[turned] - plain) ** 2) ** 0.5, 1e-4
    )
    proba = model.predict_environment_proba(x, y)
    in_environment = np.sqrt(np.average(error**2, weights=proba[:, 1]))
    assert report.errors.at["environment 1", "KerHRM"] == pytest.approx(
        in_environment, 1e-4
    )
    assert "environments detected (p = " in report.facts["test"]
    assert report.facts["assumed"]
    assert "<b>" not in report.to_html()
    assert "slope <b>turned" in str(report)
    assert_frame_equal(report.to_frame(), report.errors)
    again = copy.deepcopy(model).report(x, y, groups)
    assert_frame_equal(again.errors, report.errors)


def test_a_report_of_labels_and_of_a_fallback(labels: Any, null: Any) -> None:
    model = KerHRMClassifier(**SMALL).fit(labels.x[:300], labels.y[:300])
    report = model.report(labels.x[300:], labels.y[300:])
    wrong = np.mean(model.predict(labels.x[300:]) != labels.y[300:])
    assert report.errors.at["all rows", "KerHRM"] == pytest.approx(wrong)
    assert "cannot be tested" in report.facts["test"]
    fallback = KerHRMRegressor(**SMALL).fit(null.x, null.y).report(null.x, null.y)
    assert fallback.errors.index.tolist() == ["all rows"]
    assert (
        fallback.errors.at["all rows", "KerHRM"]
        == fallback.errors.at["all rows", "ERM"]
    )
    assert fallback.facts["predicts by"].startswith("ERM: no environments are detected")


@pytest.mark.parametrize(
    ("groups", "words"),
    [(["a"], r"shape \(1,\) for 400"), ([None] * 400, "are missing in 400 rows")],
)
def test_groups_that_are_refused(groups: Any, words: str, labels: Any) -> None:
    model = KerHRMClassifier(**SMALL).fit(labels.x, labels.y)
    with pytest.raises(KerhrmError, match=words):
        model.report(labels.x, labels.y, groups)


def test_the_worst_group_decides(labels: Any) -> None:
    X = pd.DataFrame(
        labels.x, columns=["stable", "spurious"], index=np.arange(400)[::-1]
    )
    groups = pd.Series(labels.hidden, index=X.index)
    scoring = worst_group_score(groups)
    found = cross_validate(
        LogisticRegression(), X, labels.y, scoring=scoring, return_indices=True
    )
    for score, rows in zip(found["test_score"], found["indices"]["test"], strict=True):
        train = np.setdiff1d(np.arange(400), rows)
        model = LogisticRegression().fit(X.iloc[train], labels.y[train])
        right = model.predict(X.iloc[rows]) == labels.y[rows]
        hidden = labels.hidden[rows]
        assert score == pytest.approx(min(right[hidden].mean(), right[~hidden].mean()))
    X["stable"] += pd.Series(np.random.default_rng(0).normal(size=400), X.index)
    select = FunctionTransformer(pd.DataFrame.filter)
    columns = Pipeline([("select", select), ("model", LogisticRegression())])
    grid = {"select__kw_args": [{"items": ["stable"]}, {"items": ["spurious"]}]}
    for score, chosen in ((scoring, 0), (None, 1)):
        search = GridSearchCV(columns, grid, scoring=score).fit(X, labels.y)
        assert search.best_index_ == chosen
    with pytest.raises(KerhrmError, match="give a DataFrame"):
        scoring(search, labels.x, labels.y)
    with pytest.raises(KerhrmError, match="are missing in 1 rows"):
        worst_group_score(groups[1:])(search, X, labels.y)
    with pytest.raises(KerhrmError, match="must be a pandas Series"):
        worst_group_score(labels.hidden)


def test_the_number_of_environments_is_chosen() -> None:
    wide = SMALL | {"network": (256,), "n_environments": None}
    slopes = flipped_slopes(900, 0)
    model = KerHRMRegressor(**wide).fit(slopes.x, slopes.y)
    assert model.environment_proba_.shape[1] == 2
    random = np.random.default_rng(0)
    slope = np.array([-6.0, 0.0, 6.0])[random.integers(3, size=900)]
    x = random.normal(size=(900, 2))
    y = x[:, 0] + slope * x[:, 1] + 0.3 * random.normal(size=900)
    kept = {"pretest": False, "if_not_better": "fit"}
    three = KerHRMRegressor(**wide | kept).fit(x, y)
    assert three.environment_proba_.shape[1] == 3
    random = np.random.default_rng(1)
    x = random.normal(size=(900, 2))
    y = x[:, 0] + random.normal(size=900)
    one = KerHRMRegressor(**wide | kept).fit(x, y)
    assert one.environment_proba_.shape[1] == 1
    assert (
        one.report(x, y)
        .facts["predicts by"]
        .startswith("ERM: one environment explains")
    )


def test_columns_as_they_come(slopes: Any) -> None:
    X = pd.DataFrame(slopes.x, columns=["a", "b", "c"])
    X["text"] = np.where(X["a"] > 0, "up", None)
    X["kind"] = pd.Categorical(np.where(X["b"] > 0, "x", "y"))
    X["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(500), "D")
    X["flag"] = X["c"] > 0
    X["maybe"] = pd.array([True, False, None, True, None] * 100, dtype="boolean")
    X.loc[::7, "c"] = np.nan
    X.loc[::9, "day"] = pd.NaT
    encoded = table_encoder().fit(X).transform(X)
    assert np.isfinite(encoded.to_numpy(float)).all()
    assert encoded.loc[1, "day"] == 18263  # days from 1970 to 2020, and one
    assert encoded["missingindicator_c"].sum() == 72
    assert encoded.filter(like="text").sum(axis=1).eq(1).all()
    model = make_pipeline(table_encoder(), KerHRMRegressor(**SMALL)).fit(
        X[:400], slopes.y[:400]
    )
    new = X[400:].assign(text="never seen")
    assert np.isfinite(model.predict(new)).all()


@pytest.mark.parametrize(
    "model", [KerHRMClassifier(**SMALL), ERM(network=(8,), random_state=0)]
)
def test_a_refit_that_fails_leaves_the_old_fit(model: Any, labels: Any) -> None:
    model = clone(model).fit(labels.x, labels.y)
    expected = model.predict(labels.x)
    names = sorted(vars(model))
    for x, y in (
        (labels.x[:, :1], labels.y**2),
        (labels.x * np.nan, labels.y),
        (labels.x, None),
    ):
        with pytest.raises(KerhrmError):
            model.fit(x, y)
        assert sorted(vars(model)) == names
        assert_array_equal(model.predict(labels.x), expected)
    model.set_params(network=(8, 0))
    with pytest.raises(KerhrmError):
        model.fit(labels.x[:, :1], labels.y)
    assert_array_equal(model.predict(labels.x), expected)


def test_without_a_test_the_report_says_why() -> None:
    """Of a numeric target none was asked for; two labels cannot be tested."""
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 2))
    y = x[:, 0] + 0.3 * random.normal(size=120)
    small = {"k": 2, "n_init": 1, "n_iterations": 1, "network": (4,), "random_state": 0}
    number = KerHRMRegressor(**small, pretest=False).fit(x, y)
    labels = KerHRMClassifier(**small).fit(x, y > 0)
    assert number.report(x, y).facts["test"] == "none; the parameters asked for none"
    assert "two labels cannot be tested" in labels.report(x, y > 0).facts["test"]
