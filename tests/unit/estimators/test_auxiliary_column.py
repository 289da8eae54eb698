"""Estimators with an auxiliary column: environments are functions of it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from kerhrm import KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.algorithm.options import AuxiliaryOptions
from kerhrm.errors import KerhrmError
from kerhrm.estimators import (
    DataWarning,
    HeterogeneityNotDetectedWarning,
    PriceWarning,
    _model,
)
from kerhrm.methods.auxiliary import fit_auxiliary

SMALL: dict[str, Any] = {
    "k": (3, 5),
    "n_init": 4,
    "network": (64,),
    "random_state": 3,
}
#: for data in which no test of environments is of interest
ANYWAY: dict[str, Any] = {"if_not_detected": "fit", "if_not_better": "fit"}


def by_time(n: int, seed: int, share: float | None = None) -> tuple[np.ndarray, ...]:
    """A spurious column agrees with the label in 99 % of the early rows, in 75 % of the
    late."""
    random = np.random.default_rng(seed)
    time = random.random(n)
    y = random.choice([-1.0, 1.0], n)
    draws = random.random(n)
    share_by_time = share
    if share is None:
        is_early = time < 0.5
        share_by_time = np.where(is_early, 0.99, 0.75)
    agrees = draws < share_by_time
    normal = random.normal(size=n)
    noise = 0.3 * normal
    sign = np.where(agrees, y, -y)
    spurious = sign + noise
    noise_in_stable = 1.5 * random.normal(size=(n, 3))
    stable = y[:, None] + noise_in_stable
    x = np.column_stack([stable, spurious])
    return x, y, time


@pytest.mark.parametrize("kind", ["number", "date", "category"])
def test_an_auxiliary_column_tells_which_feature_is_spurious(kind: str) -> None:
    x, y, time = by_time(2000, 0)
    is_early = time < 0.5
    times = pd.to_timedelta(1000 * time, "D")
    dates = pd.Timestamp("2020") + times
    categories = np.where(is_early, "early", "late")
    kinds: dict[str, Any] = {
        "number": time,
        "date": pd.Series(dates),
        "category": pd.DataFrame({"when": categories}),
    }
    columns = kinds[kind]
    model = KerHRMClassifier(network=(), k=(5,), random_state=0)
    model.fit(x, y, auxiliary=columns)
    assert model.predictor_ == "linear"
    assert model.heterogeneity_.p_value == 0.01

    reverse, labels, _ = by_time(2000, 1, share=0.01)
    erm = TangentRidge(network=(), random_state=0)
    erm.fit(x, y)
    assert model.score(reverse, labels) > 0.75
    assert erm.score(reverse, labels) < 0.6
    agreement = adjusted_rand_score(model.environments_, is_early)
    assert agreement > 0.9
    proba = model.predict_environment_proba(x, auxiliary=columns)
    assert_array_equal(proba, model.environment_proba_)
    with pytest.raises(KerhrmError, match="give auxiliary"):
        model.predict_environment_proba(x)


@pytest.mark.filterwarnings("ignore:.*predicting as ERM")
def test_a_column_that_is_the_target_is_told() -> None:
    x, y, time = by_time(300, 0)
    is_positive = y > 0
    names = np.where(is_positive, "p", "q")
    copy = pd.DataFrame({"when": time, "label": names})
    classifier = KerHRMClassifier(**SMALL)
    with pytest.warns(DataWarning, match="column 'label' gives the target away"):
        classifier.fit(x, y, auxiliary=copy)

    within_class = np.linspace(0, 1, 300)
    number = y + within_class
    function_of_target = 3 * number - 1
    regressor = KerHRMRegressor(**SMALL)
    with pytest.warns(DataWarning, match="column 0 gives the target away"):
        regressor.fit(x, number, auxiliary=function_of_target)


def test_a_column_that_does_not_matter_leaves_erm() -> None:
    x, y, time = by_time(600, 0, share=0.9)
    model = KerHRMClassifier(**SMALL)
    message = "no environments are detected"
    with pytest.warns(HeterogeneityNotDetectedWarning, match=message):
        model.fit(x, y, auxiliary=time)
    assert model.predictor_ == "erm"
    assert model.heterogeneity_.p_value > 0.05


def test_the_level_of_the_test_is_that_of_the_pretest() -> None:
    x, y, time = by_time(2000, 0)
    small: dict[str, Any] = {"network": (), "k": (5,), "random_state": 0}
    strict = KerHRMClassifier(**small, pretest={"level": 0.005})
    with pytest.warns(HeterogeneityNotDetectedWarning, match="predicting as ERM"):
        strict.fit(x, y, auxiliary=time)
    assert strict.heterogeneity_.p_value == 0.01  # the least of 99 permutations
    assert not strict.heterogeneity_.detected
    more = {"level": 0.005, "n_permutations": 399}
    finer = KerHRMClassifier(**small, pretest=more)
    finer.fit(x, y, auxiliary=time)
    assert finer.heterogeneity_.p_value == 1 / 400
    assert finer.heterogeneity_.detected


def test_a_test_that_decides_nothing_is_reported() -> None:
    x, y, time = by_time(600, 0, share=0.9)
    tested = KerHRMClassifier(**SMALL)
    with pytest.warns(HeterogeneityNotDetectedWarning):
        tested.fit(x, y, auxiliary=time)
    anyway = KerHRMClassifier(**SMALL, **ANYWAY)
    anyway.fit(x, y, auxiliary=time)
    assert anyway.predictor_ == "linear"
    assert anyway.heterogeneity_.p_value == tested.heterogeneity_.p_value
    assert anyway.report(x, y).facts["test"].startswith("no environments detected")
    untested = KerHRMClassifier(**SMALL, **ANYWAY, pretest=False)
    untested.fit(x, y, auxiliary=time)
    assert untested.heterogeneity_ is None
    assert_array_equal(untested.theta_, anyway.theta_)


def test_alpha_and_starts_are_those_that_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y, time = by_time(300, 0)
    seen = []

    def watched(*arguments: Any, **named: Any) -> Any:
        seen.append(arguments[-1])
        return fit_auxiliary(*arguments, **named)

    monkeypatch.setattr(_model, "fit_auxiliary", watched)
    given = SMALL | {"alpha": 7.0, "n_init": 3, "options": {"ridge": 1e-3}}
    model = KerHRMClassifier(**given, **ANYWAY)
    model.fit(x, y, auxiliary=time)
    assert model.selected_["alpha"] == 7.0
    usual = SMALL | {"n_init": 10}
    KerHRMClassifier(**usual, **ANYWAY).fit(x, y, auxiliary=time)
    of_given, of_default = seen
    assert of_given.alpha == [7.0]
    assert of_given.n_init == 3
    assert of_given.ridge == 1e-3
    assert of_default == AuxiliaryOptions(k=[3, 5])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"options": {"penalty": "scale_gradient_variance"}},
            r"options\['penalty'\]='scale_gradient_variance' .*; leave",
        ),
        ({"options": {"e_step": "hard"}}, r"options\['e_step'\]='hard' .*; leave"),
        ({"pretest": {"folds": 3}}, r"pretest\['folds'\]=3 .*; leave"),
    ],
)
def test_parameters_that_would_be_ignored_are_refused(
    parameters: dict[str, Any], words: str
) -> None:
    x, y, time = by_time(100, 0)
    model = KerHRMClassifier(**SMALL | parameters)
    with pytest.raises(KerhrmError, match=f"auxiliary and {words}"):
        model.fit(x, y, auxiliary=time)


@pytest.mark.parametrize("labels_of", [lambda y: y, np.sign])
def test_names_of_many_categories_do_not_matter(labels_of: Any) -> None:
    """Of thirty cities every second one has another slope."""
    random = np.random.default_rng(0)
    n = 2400
    city = random.integers(30, size=n)
    turned = city % 2 == 1
    x = random.normal(size=(n, 2))
    slope = np.where(turned, -1.0, 1.0)
    noise = 0.5 * random.normal(size=n)
    y = labels_of(x[:, 0] + slope * x[:, 1] + noise)
    numeric = len(np.unique(y)) > 2
    estimator = KerHRMRegressor if numeric else KerHRMClassifier
    for order in (np.arange(30), random.permutation(30)):
        names = np.array([f"city {number:02d}" for number in order])
        column = names[city]
        model = estimator(network=(), k=3, random_state=0)
        model.fit(x, y, auxiliary=column)
        assert model.heterogeneity_.p_value == 0.01
        assert adjusted_rand_score(model.environments_, turned) > 0.95
        proba = model.predict_environment_proba(x, auxiliary=column)
        assert_array_equal(proba, model.environment_proba_)


NAMED = pd.Series(range(400), name="t")
NUMBERS = np.arange(400)
MASKED = np.ma.array(NUMBERS, mask=NUMBERS > 9)
DIFFERENT = [f"row {number}" for number in NUMBERS]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([1.0], "1 rows for 400 of X"),
        ([None] * 400, "missing value"),
        (np.zeros(400), "constant"),
        (np.zeros((400, 2, 1)), r"one or two dimensions; got shape \(400, 2, 1\)"),
        ([[[1.0]]] * 400, r"one or two dimensions; got shape \(400, 1, 1\)"),
        (5, r"one or two dimensions; got shape \(\)"),
        (np.arange(400) + 1j, "got complex numbers"),
        (MASKED, "missing .* in row 10"),
        (np.arange(400) * 1e300, "column 0 has .* enormous values in 399 rows"),
        (DIFFERENT, "another category in every row"),
        ([{}] * 400, "must hold numbers, dates or categories; got {}"),
        (pd.concat([NAMED, NAMED], axis=1), "are called 't'"),
    ],
)
def test_auxiliary_columns_that_are_refused(
    column: Any, words: str, labels: Any
) -> None:
    model = KerHRMClassifier(**SMALL)
    with pytest.raises(KerhrmError, match=words):
        model.fit(labels.x, labels.y, auxiliary=column)


def test_an_unknown_category_is_refused(labels: Any) -> None:
    place = np.where(labels.hidden, "a", "b")
    model = KerHRMClassifier(**SMALL)
    model.fit(labels.x, labels.y, auxiliary=place)
    words = "'c', which the fit has not seen, in row 0 .*; known are 'a', 'b'"
    unknown = np.full(400, "c")
    with pytest.raises(KerhrmError, match=words):
        model.predict_environment_proba(labels.x, auxiliary=unknown)
    with pytest.raises(KerhrmError, match="give auxiliary"):
        model.predict_environment_proba(labels.x, labels.y)
    report = model.report(labels.x, labels.y)
    assert report.errors.index.tolist() == ["all rows"]


RANDOM = np.random.default_rng(0)
ORDER = RANDOM.permutation(300)
days_after = pd.to_timedelta(ORDER, "D")
first_day = pd.Timestamp("2020-01-01")
DAYS = pd.Series(first_day + days_after)
IN_PERIODS = DAYS.dt.to_period("D")
IN_SECONDS = DAYS.astype("datetime64[s]")
A_MILLENNIUM = np.timedelta64(365_000, "D")
#: columns in the same order, whatever they are stored as
SAME: dict[str, Any] = {
    "large": ORDER + 2**62,
    "largest": ORDER.astype("uint64") + np.uint64(2**63),
    "beyond 64 bits": [2**70 + int(place) for place in ORDER],
    "text": ORDER.astype(str),
    "nullable": pd.Series(ORDER).astype("Int64"),
    "nanoseconds": DAYS.astype("datetime64[ns]"),
    "seconds": IN_SECONDS,
    "a time zone": DAYS.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "days of Python": [day.date() for day in DAYS],
    "periods": IN_PERIODS,
    "periods of Python": IN_PERIODS.astype(object),
    "an index of periods": pd.PeriodIndex(DAYS, freq="D"),
    "periods beyond nanoseconds": IN_PERIODS + 365_000,
    "durations": DAYS - DAYS.min(),
    "far in the future": IN_SECONDS + A_MILLENNIUM,
}


def trained(column: Any) -> tuple[KerHRMClassifier, np.ndarray]:
    """A fit by an auxiliary column that tells which feature is spurious."""
    random = np.random.default_rng(1)
    y = random.choice([-1, 1], 300)
    is_early = ORDER < 150
    share = np.where(is_early, 0.99, 0.6)
    draws = random.random(300)
    agrees = draws < share
    noise = random.normal(size=300)
    stable = y + noise
    spurious = np.where(agrees, y, -y)
    x = np.column_stack([stable, spurious])
    model = KerHRMClassifier(network=(), k=3, random_state=0, **ANYWAY)
    model.fit(x, y, auxiliary=column)
    return model, x


@pytest.mark.parametrize("name", SAME)
def test_the_type_of_a_column_does_not_matter(name: str) -> None:
    expected, x = trained(ORDER)
    column = SAME[name]
    model, _ = trained(column)
    assert_array_equal(model.environment_proba_, expected.environment_proba_)
    first_rows = column[:5]
    proba = model.predict_environment_proba(x[:5], auxiliary=first_rows)
    expected_proba = expected.environment_proba_[:5]
    assert_array_equal(proba, expected_proba)


def test_a_date_is_a_date_in_any_unit_and_text_is_none() -> None:
    model, x = trained(DAYS.astype("datetime64[s]"))
    nanoseconds = DAYS.astype("datetime64[ns]")
    in_time_zone = DAYS.dt.tz_localize("UTC")
    for days in (nanoseconds, in_time_zone):
        proba = model.predict_environment_proba(x, auxiliary=days)
        assert_array_equal(proba, model.environment_proba_)

    text = DAYS.astype(str)
    with pytest.raises(KerhrmError, match="held dates in the fit; got categories"):
        model.predict_environment_proba(x, auxiliary=text)
    with pytest.raises(KerhrmError, match="held dates in the fit; got numbers"):
        model.predict_environment_proba(x, auxiliary=ORDER)


def test_periods_are_the_times_at_which_they_start() -> None:
    days = DAYS.dt.to_period("D")
    model, x = trained(days)
    proba = model.predict_environment_proba(x, auxiliary=DAYS)
    assert_array_equal(proba, model.environment_proba_)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("%Y-%m-%d", r"pd.to_datetime\(...\)"),
        ("%b %d, %Y", r"pd.to_datetime\(...\)"),
        ("%d.%m.%Y", r"pd.to_datetime\(..., dayfirst=True\)"),
        ("%m/%d/%Y", r"pd.to_datetime\(...\)"),
    ],
)
def test_dates_as_text_are_no_categories(written: str, hint: str) -> None:
    text = DAYS.dt.strftime(written)
    words = f"column 0 holds dates as text, as '.*'; convert it by {hint}, or by ast"
    with pytest.raises(KerhrmError, match=words):
        trained(text.to_numpy())
    read = pd.to_datetime(text, dayfirst="dayfirst" in hint)
    dates = read.to_numpy()
    assert (dates == DAYS.to_numpy()).all()
    is_early = ORDER < 150
    days = np.where(is_early, "01/02/2020", "03/04/2020")
    with pytest.raises(KerhrmError, match="dayfirst=True or False"):
        trained(days)
    months = np.where(is_early, "2020-01", "2020-07")
    categories = pd.Series(months).astype("category")
    model, _ = trained(categories)
    assert model.environment_proba_.any()


def test_categories_are_told_apart_by_type() -> None:
    pairs = (
        (1, "1"),
        (1, True),
        ("01", "1"),
        ("", "b"),
        (1, "a"),
    )
    for early, late in pairs:
        column = [early if place < 150 else late for place in ORDER]
        stored = pd.Series(column, dtype=object)
        model, x = trained(stored)
        assert model.environment_proba_.shape == (300, 2)
        proba = model.predict_environment_proba(x, auxiliary=column)
        assert_array_equal(proba, model.environment_proba_)


PLACES = np.where(ORDER % 2, "a", "b")
PAIR = pd.DataFrame({"time": ORDER, "place": PLACES})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda z: z[["place", "time"]], "give auxiliary\\[\\['time', 'place'\\]\\]"),
        (lambda z: z[["time"]], "has no column 'place', which the fit had"),
        (lambda z: z.assign(more=1), "column 'more' was not in the fit; leave it out"),
        (lambda z: z.rename(columns={"time": "day"}), "has no column 'time'"),
        (lambda z: z.to_numpy()[:, :1], "has 1 columns, but 2 in the fit"),
        (lambda z: z.iloc[::-1], "in another order than those of X"),
    ],
)
def test_columns_are_those_of_the_fit_by_name(change: Any, words: str) -> None:
    model, x = trained(PAIR)
    table = pd.DataFrame(x)
    changed = change(PAIR)
    with pytest.raises(KerhrmError, match=words):
        model.predict_environment_proba(table, auxiliary=changed)
    in_order = PAIR[["time", "place"]]
    proba = model.predict_environment_proba(table, auxiliary=in_order)
    assert_array_equal(proba, model.environment_proba_)
    unnamed = PAIR.to_numpy()
    with pytest.warns(DataWarning, match="have no names, here or in the fit"):
        proba = model.predict_environment_proba(table, auxiliary=unnamed)
    assert_array_equal(proba, model.environment_proba_)


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_after_erm_new_rows_need_no_target() -> None:
    x, y, time = by_time(300, 0, share=0.9)
    model = KerHRMClassifier(**SMALL)
    model.fit(x, y, auxiliary=time)
    assert model.predictor_ == "erm"
    one_environment = np.ones((3, 1))
    rows = x[:3]
    with_time = {"auxiliary": time[:3]}
    with_target = {"y": y[:3]}
    for given in (with_time, with_target, {}):
        proba = model.predict_environment_proba(rows, **given)
        assert_array_equal(proba, one_environment)
    with pytest.raises(KerhrmError, match="300 rows for 3 of X"):
        model.predict_environment_proba(x[:3], auxiliary=time)
    report = model.report(x, y, auxiliary=time)
    errors = report.errors
    assert errors.index.tolist() == ["all rows"]


def test_columns_without_a_use_are_refused(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    with pytest.warns(PriceWarning):
        model.fit(labels.x, labels.y)
    for method in (model.predict_environment_proba, model.report):
        with pytest.raises(KerhrmError, match="the fit had no auxiliary columns"):
            method(labels.x, labels.y, auxiliary=labels.hidden)
