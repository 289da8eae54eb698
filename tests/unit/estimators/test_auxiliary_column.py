"""Estimators with an auxiliary column: environments are functions of it."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal
from sklearn.metrics import adjusted_rand_score

from kerhrm import KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.algorithm.options import AuxiliaryOptions
from kerhrm.estimators import (
    DataWarning,
    HeterogeneityNotDetectedWarning,
    PriceWarning,
    _model,
)
from kerhrm.estimators._described import FittedTable
from kerhrm.methods.auxiliary import fit_auxiliary

SMALL: dict[str, Any] = {
    "k": (3, 5),
    "n_init": 4,
    "network": (64,),
    "random_state": 3,
}
#: for data in which no test of environments is of interest
ANYWAY: dict[str, Any] = {"if_not_detected": "fit", "if_not_better": "fit"}


def fitted(
    x: np.ndarray, y: np.ndarray, auxiliary: Any, **changes: Any
) -> KerHRMClassifier:
    """A classifier of few features."""
    model = KerHRMClassifier(**SMALL | changes)
    return model.fit(x, y, auxiliary=auxiliary)


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
    with refusal("give auxiliary"):
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
    message = "no environments are detected"
    with pytest.warns(HeterogeneityNotDetectedWarning, match=message):
        model = fitted(x, y, time)
    assert model.predictor_ == "erm"
    assert model.heterogeneity_.p_value > 0.05


def test_the_level_of_the_test_is_that_of_the_pretest() -> None:
    x, y, time = by_time(2000, 0)
    small: dict[str, Any] = {"network": (), "k": (5,), "random_state": 0}
    level = {"level": 0.005}
    strict = KerHRMClassifier(**small, pretest=level)
    strict.fit(x, y, auxiliary=time)
    assert strict.heterogeneity_.p_value == 0.005  # as many permutations as it takes
    assert strict.heterogeneity_.detected
    more = level | {"n_permutations": 399}
    finer = KerHRMClassifier(**small, pretest=more)
    finer.fit(x, y, auxiliary=time)
    assert finer.heterogeneity_.p_value == 1 / 400
    assert finer.heterogeneity_.detected
    none = KerHRMClassifier(**small, pretest={"level": 0.0})
    with pytest.warns(HeterogeneityNotDetectedWarning, match="predicting as ERM"):
        none.fit(x, y, auxiliary=time)


def test_a_test_that_decides_nothing_is_reported() -> None:
    x, y, time = by_time(600, 0, share=0.9)
    with pytest.warns(HeterogeneityNotDetectedWarning):
        tested = fitted(x, y, time)
    anyway = fitted(x, y, time, **ANYWAY)
    assert anyway.predictor_ == "linear"
    assert anyway.heterogeneity_.p_value == tested.heterogeneity_.p_value
    facts = anyway.report(x, y).facts
    assert facts["test"].startswith("no environments detected")
    untested = fitted(x, y, time, **ANYWAY, pretest=False)
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
    given = {"alpha": 7.0, "n_init": 3, "options": {"ridge": 1e-3}}
    model = fitted(x, y, time, **ANYWAY, **given)
    assert model.selected_["alpha"] == 7.0
    fitted(x, y, time, **ANYWAY, n_init=None)
    without = {"n_init": 10, "alpha": (0.0, 0.1, 1.0, 10.0)}
    fitted(x, y, time, **ANYWAY, **without)
    of_given, of_default, as_without = seen
    assert of_given.alpha == [7.0]
    assert of_given.n_init == 3
    assert of_given.ridge == 1e-3
    assert of_default == AuxiliaryOptions(k=[3, 5])
    assert as_without.n_init == 10
    assert as_without.alpha == [0.0, 0.1, 1.0, 10.0]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"options": {"penalty": "scale_gradient_variance"}},
            r"options\['penalty'\]='scale_gradient_variance' .*; leave",
        ),
        ({"options": {"e_step": "hard"}}, r"options\['e_step'\]='hard' .*; leave"),
        ({"options": {"margin": 0.2}}, r"options\['margin'\]=0.2 .*; leave"),
        ({"options": {"stop_by": "pooled"}}, r"options\['stop_by'\]='pooled' .*; l"),
        ({"pretest": {"folds": 3}}, r"pretest\['folds'\]=3 .*; leave"),
    ],
)
def test_parameters_that_would_be_ignored_are_refused(
    parameters: dict[str, Any], words: str
) -> None:
    x, y, time = by_time(100, 0)
    with refusal(f"auxiliary and {words}"):
        fitted(x, y, time, **parameters)


def test_what_a_network_is_stopped_by_is_no_option_of_halves() -> None:
    """These have none, and a stability all the same."""
    x, y, time = by_time(300, 0)
    given: dict[str, Any] = {
        "predictor": "network",
        "options": {"stop_by": "pooled", "steps": 25, "cosine_weight": 1.0},
    }
    model = fitted(x, y, time, **ANYWAY, **given)
    assert model.predictor_ == "network"
    assert model.describe(stability=2).stability is not None


@pytest.mark.parametrize("how", ["erm", "fit"])
def test_a_margin_of_one_predicts_as_erm(how: str) -> None:
    """As the price of labels, a report and a description advise."""
    x, y, time = by_time(300, 0)
    chosen = ANYWAY | {"if_not_better": how, "options": {"margin": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", HeterogeneityNotDetectedWarning)
        model = fitted(x, y, time, **chosen)
    assert model.predictor_ == "erm"
    facts = model.report(x, y).facts
    assert facts["predicts by"] == "ERM: options={'margin': 1} asks for it"
    assert model.environment_proba_.shape == (300, 2)


def test_a_line_of_the_iteration_says_what_its_score_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x, y, time = by_time(300, 0)
    model = fitted(x, y, time, **ANYWAY, verbose=1)
    score = model.selected_["score"]
    assert score < 0
    line = f"score {score:.4f} (minus the extrapolated risk)\n"
    assert capsys.readouterr().out.endswith(line)


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
    signal = x[:, 0] + slope * x[:, 1]
    y = labels_of(signal + noise)
    numeric = len(np.unique(y)) > 2
    estimator = KerHRMRegressor if numeric else KerHRMClassifier
    for order in (np.arange(30), random.permutation(30)):
        names = np.array([f"city {number:02d}" for number in order])
        column = names[city]
        model = estimator(network=(), k=3, random_state=0)
        model.fit(x, y, auxiliary=column)
        assert model.heterogeneity_.p_value == 0.01
        agreement = adjusted_rand_score(model.environments_, turned)
        assert agreement > 0.95
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
    with refusal(words):
        fitted(labels.x, labels.y, column)


def test_an_unknown_category_is_refused(labels: Any) -> None:
    place = np.where(labels.hidden, "a", "b")
    model = fitted(labels.x, labels.y, place)
    words = "'c', which the fit has not seen, in row 0 .*; known are 'a', 'b'"
    unknown = np.full(400, "c")
    with refusal(words):
        model.predict_environment_proba(labels.x, auxiliary=unknown)
    with refusal("give auxiliary"):
        model.predict_environment_proba(labels.x, labels.y)
    report = model.report(labels.x, labels.y)
    assert report.errors.index.tolist() == ["all rows"]


def two_places(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The slope of the second column is another one in the second half, a place."""
    random = np.random.default_rng(0)
    x = random.normal(size=(n, 2))
    place = np.repeat(["a", "b"], n // 2)
    is_first = place == "a"
    slope = np.where(is_first, 2.0, -2.0)
    noise = 0.3 * random.normal(size=n)
    y = x[:, 0] + slope * x[:, 1] + noise
    return x, y, place.astype(object)


def test_environments_without_a_cell_have_no_number_in_new_rows() -> None:
    """Two places are two environments at most, whatever K is."""
    x, y, place = two_places(200)
    model = KerHRMRegressor(**SMALL, **ANYWAY, n_environments=4)
    model.fit(x, y, auxiliary=place)
    assert model.environment_proba_.shape == (200, 2)
    again = model.predict_environment_proba(x, auxiliary=place)
    assert_array_equal(again, model.environment_proba_)
    errors = model.report(x, y, auxiliary=place).errors
    assert [*errors.index] == ["all rows", "environment 0", "environment 1"]


def test_a_category_that_half_of_the_rows_lack_has_a_stability() -> None:
    x, y, place = two_places(200)
    place[[0, 199]] = "rare"
    model = KerHRMRegressor(**SMALL, **ANYWAY)
    model.fit(x, y, auxiliary=place)
    stability = model.describe(stability=4).stability
    assert stability is not None
    assert len(stability.indices) == 4
    assert stability.median > 0.9
    assert model._given is not None
    table = FittedTable.read(model, model._given)
    is_rare = place[table.rows.order] == "rare"
    likeliest = table.fitted_again(model, np.flatnonzero(~is_rare)[::2], seed=1)
    assert likeliest is not None
    assert_array_equal(likeliest == -1, is_rare)


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_after_erm_new_rows_need_no_target() -> None:
    x, y, time = by_time(300, 0, share=0.9)
    model = fitted(x, y, time)
    assert model.predictor_ == "erm"
    one_environment = np.ones((3, 1))
    rows = x[:3]
    with_time = {"auxiliary": time[:3]}
    with_target = {"y": y[:3]}
    for given in (with_time, with_target, {}):
        proba = model.predict_environment_proba(rows, **given)
        assert_array_equal(proba, one_environment)
    with refusal("300 rows for 3 of X"):
        model.predict_environment_proba(rows, auxiliary=time)
    errors = model.report(x, y, auxiliary=time).errors
    assert errors.index.tolist() == ["all rows"]


def test_columns_without_a_use_are_refused(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    with pytest.warns(PriceWarning):
        model.fit(labels.x, labels.y)
    for method in (model.predict_environment_proba, model.report):
        with refusal("the fit had no auxiliary columns"):
            method(labels.x, labels.y, auxiliary=labels.hidden)


def test_errors_are_called_by_the_rows_that_they_are_of() -> None:
    """With a column the comparison is on the validation rows."""
    random = np.random.default_rng(0)
    z = random.random(500)
    x = random.normal(size=(500, 2))
    slope = np.where(z < 0.3, -1.5, 1.5)
    y = x[:, 0] + slope * x[:, 1] + 0.3 * random.normal(size=500)
    model = KerHRMRegressor(
        k=3, network=(8,), n_init=1, random_state=0, if_not_better="fit"
    )
    model.fit(x, y, auxiliary=z)
    cost = model.report(x, y).facts["cost of KerHRM"]
    assert "its error, on validation rows alone, is" in cost
    assert len(model._losses["weights"]) == 100
