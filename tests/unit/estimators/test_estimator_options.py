"""Options of KerHRM's estimators: what is a parameter, and what is an option."""

import inspect
import pickle
import re
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kerhrm import (
    EstimatorOptions,
    KerHRMClassifier,
    KerhrmError,
    KerHRMOptions,
    KerHRMRegressor,
)
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.estimators._parameters import FitOptions, fit_options
from kerhrm.plots import iterations
from tests.unit.estimators.conftest import SMALL

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

DIRECT = {
    "k",
    "alpha",
    "n_environments",
    "n_iterations",
    "n_init",
    "pretest",
    "if_not_detected",
    "if_not_better",
    "predictor",
    "network",
    "validation_fraction",
    "random_state",
    "device",
    "n_jobs",
    "verbose",
    "options",
}
KINDS = [KerHRMClassifier, KerHRMRegressor]
QUICK = SMALL | {
    "k": 3,
    "n_init": 2,
    "network": (16,),
    "n_iterations": 1,
}
#: what an option may be given, and is refused where the library's is
ANYTHING = (-1, 0, 0.5, 1, 2, 1.5, 10**7, "soft", "x", None, [0.0], [-1.0], [])


@pytest.mark.parametrize("kind", KINDS)
def test_sixteen_parameters_and_all_options_are_listed(kind: Any) -> None:
    parameters = inspect.signature(kind)
    assert set(parameters.parameters) == DIRECT
    direct = kind().get_params(deep=False)
    assert set(direct) == DIRECT
    options = {f"options__{name}" for name in EstimatorOptions.model_fields}
    assert len(options) == 31
    every = kind().get_params()
    assert set(every) == DIRECT | options
    assert vars(kind()).keys() == DIRECT


def test_parameters_and_options_are_the_library_s_with_its_defaults() -> None:
    fields = EstimatorOptions.model_fields
    library = KerHRMOptions.model_fields
    own = {"calibration", "margin", "max_exact", "n_landmarks"}
    assert fields.keys() - library.keys() == own
    assert library.keys() - fields.keys() <= DIRECT
    assert fit_options(KerHRMRegressor()) == FitOptions()
    for name in library.keys() & fields.keys():
        default = library[name].default
        assert fields[name].default == default, name


@pytest.mark.parametrize("name", KerHRMOptions.model_fields)
def test_an_option_is_refused_where_the_library_s_is(name: str) -> None:
    """Also where the estimators take single values."""
    for value in ANYTHING:
        outcomes = []
        for kind in (KerHRMOptions, FitOptions):
            default = kind.model_fields[name].default
            takes_a_list = isinstance(default, list)
            if takes_a_list and not isinstance(value, list):
                value = [value]
            try:
                options = kind.parse({name: value})
                outcomes.append(getattr(options, name))
            except KerhrmError:
                outcomes.append("refused")
        of_library, of_estimators = outcomes
        assert of_library == of_estimators, value


def test_options_keep_their_order() -> None:
    """It is part of the names of cells: ``kerhrm+n_init=2+alpha=1+ridge=0.1``."""
    names = [*KerHRMOptions.model_fields]
    assert names[:5] == ["k", "n_iterations", "n_environments", "n_init", "init"]
    place = names.index("alpha")
    assert names[place - 1] == "min_share"
    assert names[place + 1] == "penalty"
    assert names[-3:] == ["stop_by", "final", "pretest"]
    fields = EstimatorOptions.model_fields
    shared = [name for name in fields if name in names]
    assert shared == [name for name in names if name in fields]


def test_options_are_given_by_name_or_as_an_object(labels: Any) -> None:
    options: dict[str, Any] = {
        "ridge": 0.1,
        "clustering_ridge": np.float64(0.02),
    }
    set_later = KerHRMClassifier(**QUICK)
    set_later.set_params(options=options)
    set_one_by_one = KerHRMClassifier(**QUICK, options={"ridge": 3.0})
    set_one_by_one.set_params(options__ridge=0.1, options__clustering_ridge=[0.02])
    models = [
        KerHRMClassifier(**QUICK, options=options),
        KerHRMClassifier(**QUICK, options=EstimatorOptions(**options)),
        set_later,
        set_one_by_one,
        clone(set_later),
    ]
    thetas = []
    for model in models:
        model.fit(labels.x, labels.y)
        thetas.append(model.theta_)
    first, *others = thetas
    for theta in others:
        assert_array_equal(theta, first)
    plain = KerHRMClassifier(**QUICK)
    plain.fit(labels.x, labels.y)
    assert (plain.theta_ != first).any()
    assert plain.options is None


def test_setting_an_option_leaves_the_others_and_the_given_mapping() -> None:
    given = {"ridge": 0.1}
    model = KerHRMRegressor(options=given)
    model.set_params(options__steps=3, k=2)
    assert given == {"ridge": 0.1}
    assert model.options == {"ridge": 0.1, "steps": 3}
    params = model.get_params()
    assert params["options__ridge"] == 0.1
    assert params["options__steps"] == 3
    assert params["options__tol"] == 5e-3
    model.set_params(options=None, options__tol=0.1)
    assert model.options == {"tol": 0.1}
    frozen = KerHRMRegressor(options=EstimatorOptions(ridge=0.1))
    frozen.set_params(options__steps=3)
    assert frozen.options == {"ridge": 0.1, "steps": 3}


def test_options_are_searched(labels: Any) -> None:
    grid = {"options__ridge": [1e-6, 10.0], "k": [2, 3]}
    model = KerHRMClassifier(**QUICK)
    search = GridSearchCV(model, grid, cv=2)
    search.fit(labels.x, labels.y)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_
    ridge = search.best_params_["options__ridge"]
    assert best.options == {"ridge": ridge}
    pipeline = make_pipeline(StandardScaler(), KerHRMClassifier(**QUICK))
    pipeline.set_params(kerhrmclassifier__options__ridge=0.5)
    assert pipeline[-1].options == {"ridge": 0.5}


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_among_the_parameters_is_refused_with_its_spelling(kind: Any) -> None:
    words = r'^ridge: no parameter, but an option; give options=\{"ridge": 0.001\}$'
    with refusal(words) as caught:
        kind(k=5, ridge=1e-3)
    assert isinstance(caught.value, TypeError)
    words = r"ridge, steps: .* give options=\{\"ridge\": 0.001, \"steps\": 3\}"
    with refusal(words):
        kind(ridge=1e-3, steps=3)
    with refusal(r"give options__ridge=0\.001$"):
        kind().set_params(ridge=1e-3)
    words = r'rigde: no parameter; did you mean options=\{"ridge": \.\.\.\}\?'
    with pytest.raises(TypeError, match=words):
        kind(rigde=1e-3)
    with pytest.raises(ValueError, match="Invalid parameter 'rigde'"):
        kind().set_params(rigde=1e-3)
    with refusal(r"options\['rigde'\]: no such option; did"):
        kind().set_params(options__rigde=1e-3)


class OwnRidge(KerHRMRegressor):
    """A subclass with a parameter that has the name of an option."""

    def __init__(self, ridge: float = 1.0, k: int = 2, options: Any = None) -> None:
        quick = QUICK | {"k": k}
        super().__init__(**quick, options=options)
        self.ridge = ridge


class WithoutOptions(KerHRMRegressor):
    """A subclass whose parameter is an option, and that has no ``options``."""

    def __init__(self, ridge: float = 1e-6) -> None:
        options = {"ridge": ridge}
        super().__init__(**QUICK, if_not_better="fit", options=options)
        self.ridge = ridge

    def fit(self, X: Any, y: Any, **columns: Any) -> Self:
        self.options = {"ridge": self.ridge}
        return super().fit(X, y, **columns)


def test_a_subclass_s_own_parameter_is_no_option() -> None:
    model = OwnRidge(ridge=2.0)
    model.set_params(ridge=3.0, options__ridge=0.1)
    for same in (model, clone(model)):
        assert same.ridge == 3.0
        assert same.options == {"ridge": 0.1}
    params = model.get_params()
    assert params["ridge"] == 3.0
    assert params["options__ridge"] == 0.1
    with refusal("give options__steps=3"):
        model.set_params(steps=3)


def test_a_subclass_without_options_lists_none(slopes: Any) -> None:
    model = WithoutOptions()
    assert model.get_params() == {"ridge": 1e-6}
    for name in ("options__ridge", "options", "steps"):
        with pytest.raises(ValueError, match="Invalid parameter"):
            model.set_params(**{name: None})
    grid = {"ridge": [1e-6, 10.0]}
    search = GridSearchCV(model, grid, cv=2)
    search.fit(slopes.x, slopes.y)
    best = search.best_estimator_
    ridge = search.best_params_["ridge"]
    assert best.options == {"ridge": ridge}
    assert clone(best).get_params() == search.best_params_
    assert iterations(best).get_xlabel() == "iteration"
    inferred = best.report(slopes.x, slopes.y).facts["environments"]
    assert inferred.endswith("% of the rows, by mean membership")
    plain = KerHRMRegressor(**QUICK, if_not_better="fit", options={"ridge": ridge})
    plain.fit(slopes.x, slopes.y)
    assert str(best.describe(stability=2)) == str(plain.describe(stability=2))


def test_a_read_only_mapping_is_copied_and_saved(labels: Any) -> None:
    given = MappingProxyType({"ridge": 0.1})
    level = MappingProxyType({"level": 0.1})
    model = KerHRMClassifier(**QUICK, options=given, pretest=level)
    assert model.options is given
    assert clone(model).options == given
    assert clone(model).pretest == level
    model.fit(labels.x, labels.y)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.options == given
    predictions = loaded.predict(labels.x)
    assert_array_equal(predictions, model.predict(labels.x))
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        requests = clone(model).get_metadata_routing()
    assert requests.fit.requests["sample_weight"] is True


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"selection": "pooled"}, "options['selection']: no such option; it is 'stop_"),
        ({"options__ridge": 1}, "options['options__ridge']: no such option; did you m"),
        ({"x" * 300: 1}, "x...]: no such option; kerhrm.EstimatorOptions lists them"),
        (KerHRMOptions(), "or a mapping; got KerHRMOptions; leave options out"),
        (
            KerHRMOptions(k=[3], ridge=0.1, tol=0.2),
            'got KerHRMOptions; give k=[3], options={"ridge": 0.1, "tol": 0.2}',
        ),
        (EstimatorOptions, "must be a mapping of names to values; got <class"),
    ],
)
def test_other_options_are_refused_with_what_to_write(
    options: Any, words: str, labels: Any
) -> None:
    model = KerHRMRegressor(options=options)
    pattern = re.escape(words)
    with refusal(pattern) as caught:
        model.fit(labels.x, labels.y)
    message = str(caught.value)
    assert len(message) < 200


@pytest.mark.parametrize("pretest", ["yes", 1, [True], HeterogeneityOptions])
def test_a_pretest_that_is_none_is_refused(pretest: Any, slopes: Any) -> None:
    words = r'must be True, False or options; .* or pretest=\{"level": 0\.01\}$'
    model = KerHRMRegressor(pretest=pretest)
    with refusal(words):
        model.fit(slopes.x, slopes.y)


def test_a_pretest_s_options_are_given_by_name(slopes: Any) -> None:
    by_name = KerHRMRegressor(**QUICK, pretest={"level": 0.01})
    pretest = fit_options(by_name)
    assert pretest.pretest == HeterogeneityOptions(level=0.01)
    words = r"^pretest: level=3: must be less than .* 1; the default is 0\.05$"
    by_name.set_params(pretest={"level": 3})
    with refusal(words):
        by_name.fit(slopes.x, slopes.y)


def test_an_option_in_a_grid_is_refused_with_its_spelling(labels: Any) -> None:
    model = KerHRMClassifier(**QUICK)
    grid = {"ridge": [0.1]}
    search = GridSearchCV(model, grid, cv=2)
    with refusal(r"give options__ridge=0\.1$"):
        search.fit(labels.x, labels.y)


def test_its_picture_has_the_parameters() -> None:
    model = KerHRMRegressor(options={"ridge": 0.1})
    assert repr(model) == "KerHRMRegressor(options={'ridge': 0.1})"
    assert "options__" not in model._repr_html_()
