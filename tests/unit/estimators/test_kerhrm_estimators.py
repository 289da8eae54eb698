"""KerHRM's estimators are the library's own steps, infer what is hidden, or warn."""

import io
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kerhrm
from kerhrm import (
    ERM,
    KerHRMClassifier,
    KerHRMOptions,
    KerHRMRegressor,
    NTFMap,
    Problem,
    TangentRidge,
)
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.estimators import (
    DataWarning,
    HeterogeneityNotDetectedWarning,
    PriceWarning,
)
from kerhrm.estimators._guard import break_even, not_better, price
from kerhrm.estimators._parameters import EstimatorOptions
from kerhrm.estimators._report import compare, doubts
from kerhrm.estimators._start import start
from kerhrm.heterogeneity.test import test_problem
from kerhrm.options import Task
from tests.unit.estimators.conftest import flipped_labels, flipped_slopes

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")
SMALL: dict[str, Any] = {"k": (3, 5), "n_init": 4, "network": (64,), "random_state": 3}
OPTIONS = KerHRMOptions(k=[3, 5], n_init=4)


def by_hand(model: Any, table: Any) -> tuple[NTFMap, Problem, Any]:
    """The same problem without the estimator's help, but for the split
    and the units."""
    inputs, _ = start(clone(model), table.x, table.y, None)
    with torch.no_grad():
        features = NTFMap.fit(inputs.network, inputs.x, 5)
        targets = inputs.y, inputs.y_validation
        problem = Problem.from_features(
            features, inputs.x_validation, *targets, inputs.task, 3
        )
    return features, problem, inputs


def test_parameters_are_the_options_with_their_defaults() -> None:
    params = KerHRMClassifier().get_params()
    assert params == KerHRMRegressor().get_params()
    options = EstimatorOptions().model_dump()
    assert KerHRMOptions().model_dump().items() <= options.items()
    assert options.pop("pretest") == HeterogeneityOptions().model_dump()
    assert params["pretest"] is True
    for name, default in options.items():
        assert (
            list(params[name]) if isinstance(default, list) else params[name]
        ) == default
    others = {
        "network",
        "validation_fraction",
        "random_state",
        "device",
        "n_jobs",
        "pretest",
    }
    assert params.keys() == options.keys() | others


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_it_is_the_library_s_fit(task: str, labels: Any, slopes: Any) -> None:
    table = labels if task == "classification" else slopes
    kind = KerHRMClassifier if task == "classification" else KerHRMRegressor
    model = kind(**SMALL).fit(table.x, table.y)
    features, problem, _ = by_hand(model, table)
    units = model._units
    with torch.no_grad():
        result = fit(problem, OPTIONS)
        outputs = result.final.predict(
            *features.transform(units.inputs(table.x))
        ).numpy()
    np.testing.assert_array_equal(model.theta_, result.final.theta)
    np.testing.assert_allclose(model.singular_values_, problem.s, rtol=1e-12)
    for name in ("k", "alpha", "iteration", "score"):
        assert model.selected_[name] == getattr(result.final, name)
    scores = [d.winner(1).score for d in result.directions]
    assert [row["score"] for row in model.history_] == scores
    if task == "classification":
        np.testing.assert_allclose(model.decision_function(table.x), outputs, atol=1e-4)
    else:
        expected = outputs * units.y_scale + units.y_mean
        np.testing.assert_allclose(
            model.predict(table.x), expected, rtol=1e-4, atol=1e-3
        )


@pytest.mark.filterwarnings(
    "ignore::kerhrm.estimators.KerhrmWarning"
)  # degenerate ones
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"e_step": "hard", "n_iterations": 2, "final": "last"},
        {"first_kernel": "inputs", "clustering_target": "label", "n_iterations": 1},
        {
            "clustering_intercept": True,
            "noise_variance": "per_cluster",
            "projection": "all",
        },
        {"n_environments": 4, "min_share": 0.3},
    ],
    ids=[
        "default",
        "hard steps",
        "inputs and labels",
        "intercepts",
        "dropped environments",
    ],
)
def test_environments_are_those_of_the_fit(
    options: dict[str, Any], slopes: Any
) -> None:
    """Row by row, for new rows as well: nothing is fitted again."""
    model = KerHRMRegressor(**SMALL, **options, pretest=False, if_not_better="fit").fit(
        slopes.x, slopes.y
    )
    _, problem, inputs = by_hand(model, slopes)
    _, positions = start(clone(model), slopes.x, slopes.y, None)
    with torch.no_grad():
        points = inputs.x, inputs.x_validation
        result = fit(problem, OPTIONS.model_copy(update=options), points)
    one = result.environments[model.selected_["iteration"] - 1].candidate(
        model.selected_["k"]
    )
    expected = torch.cat([one.train, one.validation])[:, one.occupied]
    expected /= expected.sum(1, keepdim=True)
    expected = expected[positions]
    np.testing.assert_allclose(model.environment_proba_, expected, atol=1e-12)
    np.testing.assert_array_equal(model.environments_, expected.argmax(1))
    proba = model.predict_environment_proba(slopes.x, slopes.y)
    np.testing.assert_allclose(proba, model.environment_proba_, atol=1e-3)


def test_the_network_is_that_of_the_network_training_step(labels: Any) -> None:
    chosen: dict[str, Any] = {"cosine_weight": [10.0, 100.0], "steps": 40}
    model = KerHRMClassifier(
        **SMALL, predictor="network", if_not_better="fit", **chosen
    )
    model.fit(labels.x, labels.y)
    features, problem, inputs = by_hand(model, labels)
    options = OPTIONS.model_copy(update=chosen)
    with torch.no_grad():
        result = fit(problem, options)
    points = inputs.x, inputs.x_validation
    trained = train_network(
        features.network, *points, problem, result.final, result.environments, options
    )
    expected = trained.network(model._units.inputs(labels.x)).detach()
    np.testing.assert_allclose(model.decision_function(labels.x), expected, atol=1e-4)
    assert model.selected_["cosine_weight"] == trained.cosine_weight


def test_hidden_environments_of_labels_are_inferred(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL).fit(labels.x, labels.y)
    assert adjusted_rand_score(labels.hidden, model.environments_) >= 0.9
    flipped = np.column_stack([labels.x[:, 0], -labels.y])
    erm = ERM(network=(64,), random_state=3).fit(labels.x, labels.y)
    assert model.score(flipped, labels.y) > erm.score(flipped, labels.y)
    np.testing.assert_allclose(model.environment_proba_.sum(1), 1)
    assert model.heterogeneity_ is None


def test_hidden_environments_of_numbers_are_inferred(slopes: Any) -> None:
    model = KerHRMRegressor(k=5, network=(256,), random_state=3).fit(slopes.x, slopes.y)
    assert model.heterogeneity_.detected
    assert model.heterogeneity_.p_value <= 0.05
    clear = np.abs(slopes.x[:, 1]) > 0.5  # elsewhere the noise hides which slope it was
    environments = model.environments_
    assert adjusted_rand_score(slopes.hidden[clear], environments[clear]) >= 0.9


def test_where_nothing_is_detected_it_is_erm(null: Any) -> None:
    with pytest.warns(HeterogeneityNotDetectedWarning, match="predicting as ERM"):
        model = KerHRMRegressor(**SMALL).fit(null.x, null.y)
    erm = TangentRidge(task="regression", network=(64,), random_state=3).fit(
        null.x, null.y
    )
    np.testing.assert_array_equal(model.predict(null.x), erm.predict(null.x))
    assert (model.predictor_, model.heterogeneity_.detected) == ("erm", False)
    assert model.environment_proba_.shape == (300, 1)
    assert set(model.environments_) == {0}
    assert (model.selected_["iteration"], model.history_) == (0, [])
    np.testing.assert_array_equal(model.predict_environment_proba(null.x, null.y), 1)


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
    with pytest.warns(HeterogeneityNotDetectedWarning, match="not better than ERM"):
        model = KerHRMRegressor(**SMALL, margin=0.95).fit(slopes.x, slopes.y)
    assert model.predictor_ == "erm"
    np.testing.assert_allclose(model.report_, report)
    # what was found stays readable, and the report says why ERM predicts
    for name in ("environment_proba_", "environments_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(detected, name))
    new = flipped_slopes(50, 7)
    proba = model.predict_environment_proba(new.x, new.y)
    np.testing.assert_array_equal(
        proba, detected.predict_environment_proba(new.x, new.y)
    )
    told = model.report(new.x, new.y)
    assert [*told.errors.index] == ["all rows", "environment 0", "environment 1"]
    assert told.facts["predicts by"].startswith("ERM: KerHRM is not better than ERM")
    assert told.facts["environments"].endswith(
        "of the rows; found, but they do not help"
    )


@given(
    st.lists(st.floats(0, 10), min_size=2, max_size=4),
    st.one_of(st.none(), st.floats(0, 0.9)),
    st.integers(0, 100),
    st.sampled_from(["regression", "classification"]),
)
def test_a_model_that_does_not_help_never_predicts(
    errors: list[float], margin: float | None, seed: int, task: Task
) -> None:
    random = np.random.default_rng(seed)
    names = ["all rows", *(f"environment {j}" for j in range(len(errors) - 1))]
    table = pd.DataFrame(
        {"KerHRM": errors, "ERM": 1.0, "constant": 5 * random.random(len(errors))}
    )
    reason = not_better(table.set_axis(names), task, margin)
    labels = task == "classification"
    beside = 0.9 if labels else 1.1
    limits = table["constant"] * [1, *[beside] * (len(errors) - 1)]
    left = 1 - (0.1 if margin is None else margin)
    if labels and margin is None and errors[0] > 1.01:
        share = (table["KerHRM"] / table["constant"])[1:].max()
        left = 0.75 if share <= 0.4 else min(0.6, 0.9 - share / 2)
    helps = (table["KerHRM"] <= limits).all() and max(errors[1:]) < left
    assert (reason is None) == helps


def test_a_regression_may_be_worse_than_the_constant_by_chance() -> None:
    table = pd.DataFrame(
        {"KerHRM": [1.0, 1.3], "ERM": [0.8, 2.0], "constant": [2.0, 1.0]},
        ["all rows", "environment 0"],
    )
    doubt = pd.Series([0.1, 0.25], table.index)
    assert "worse than a constant" in str(not_better(table, "regression", None))
    assert not_better(table, "regression", None, doubt) is None


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
    y, f = np.array([1.0, -1.0, 1.0]), np.array([0.5, 0.5, 2.0])
    groups = {"a": np.array([1.0, 0.5, 0.0]), "nobody": np.zeros(3)}
    table = compare({"f": f}, y, groups, "regression")
    assert table["f"].to_dict() == pytest.approx(
        {"all rows": 3.5 / 3, "a": (0.25 + 0.5 * 2.25) / 1.5}
    )
    labels = compare({"f": f}, y, groups, "classification")
    assert labels["f"].to_dict() == pytest.approx({"all rows": 1 / 3, "a": 0.5 / 1.5})


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
        x, y = torch.from_numpy(null.x[rows]), torch.from_numpy(null.y[rows])
        nothing, s = torch.zeros_like(y), torch.ones(3, dtype=torch.float64)
        return test_problem(
            Problem(x, s, x, nothing, nothing, y, y, "regression", 3), x, few
        )

    once = tested(np.arange(100))
    again = tested(np.repeat(np.arange(100), np.arange(100) % 3 + 1))
    assert once.p_value == again.p_value
    np.testing.assert_allclose([again.gain, *again.null], [once.gain, *once.null])
    assert np.isnan(tested(np.repeat(range(70), 2)).p_value)


def test_the_order_of_rows_changes_nothing(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL).fit(labels.x, labels.y)
    order = np.random.default_rng(0).permutation(len(labels.y))
    again = clone(model).fit(labels.x[order], labels.y[order])
    np.testing.assert_array_equal(
        again.predict_proba(labels.x), model.predict_proba(labels.x)
    )
    np.testing.assert_allclose(
        again.environment_proba_, model.environment_proba_[order]
    )


def test_landmarks_come_near_the_exact_features(labels: Any) -> None:
    exact = KerHRMClassifier(**SMALL).fit(labels.x, labels.y)
    near = KerHRMClassifier(**SMALL, max_exact=100, n_landmarks=150).fit(
        labels.x, labels.y
    )
    np.testing.assert_allclose(near.singular_values_, exact.singular_values_, rtol=0.02)
    assert np.mean(near.predict(labels.x) == exact.predict(labels.x)) > 0.97
    assert adjusted_rand_score(near.environments_, exact.environments_) > 0.95


def test_k_is_lowered_to_what_there_is(labels: Any) -> None:
    few = KerHRMClassifier(random_state=0, network=(16,), if_not_better="fit").fit(
        labels.x[:20], labels.y[:20]
    )
    assert len(few.theta_) == 8  # 16 rows train, 8 for each environment
    x = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
    flat = KerHRMClassifier(random_state=0, network=(16,), if_not_better="fit").fit(
        x, x[:, 0] > 0
    )
    assert len(flat.theta_) <= 3


def test_given_rows_validate(labels: Any) -> None:
    held_out = labels.x[300:], labels.y[300:]
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    model.fit(labels.x[:300], labels.y[:300], validation=held_out)
    assert model.score(labels.x, labels.y) > 0.7
    assert adjusted_rand_score(labels.hidden[:300], model.environments_) > 0.9


@pytest.mark.parametrize("network", ["factories:wide", "callable"])
def test_any_torch_module_is_a_network(network: str, labels: Any) -> None:
    import factories

    chosen = dict(SMALL, network=factories.wide if network == "callable" else network)
    model = KerHRMClassifier(**chosen).fit(labels.x, labels.y)
    assert adjusted_rand_score(labels.hidden, model.environments_) > 0.9


def test_it_is_at_home_in_scikit_learn(labels: Any) -> None:
    frame = pd.DataFrame(labels.x, columns=["stable", "spurious"])
    names = pd.Series(np.where(labels.y > 0, "yes", "no"), name="answer")
    pipeline = make_pipeline(StandardScaler(), KerHRMClassifier(**SMALL))
    pipeline.set_output(transform="pandas").fit(frame, names)
    assert list(pipeline[-1].feature_names_in_) == ["stable", "spurious"]
    assert list(pipeline.classes_) == ["no", "yes"]
    # in another process, as scikit-learn's n_jobs does it, and from a file
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = pool.submit(pipeline.predict_proba, frame).result()
    np.testing.assert_array_equal(elsewhere, pipeline.predict_proba(frame))
    file = io.BytesIO()
    joblib.dump(pipeline, file)
    file.seek(0)
    np.testing.assert_array_equal(joblib.load(file).predict_proba(frame), elsewhere)
    with pytest.raises(NotFittedError):
        clone(pipeline[-1]).predict(frame)


def test_random_states_and_cores(labels: Any) -> None:
    chosen = dict(SMALL, random_state=np.random.RandomState(5), k=3)
    first = KerHRMClassifier(**chosen, n_jobs=1).fit(labels.x, labels.y)
    chosen["random_state"] = first.seed_
    again = KerHRMClassifier(**chosen, n_jobs=-1).fit(labels.x, labels.y)
    np.testing.assert_allclose(first.theta_, again.theta_, rtol=1e-3, atol=1e-6)
    assert torch.get_num_threads() == 1


def test_a_regressor_gives_no_probabilities() -> None:
    for method in ("predict_proba", "decision_function"):
        assert not hasattr(KerHRMRegressor(), method)
        assert hasattr(KerHRMClassifier(), method)


@pytest.mark.parametrize("predictor", ["linear", "network"])
@pytest.mark.parametrize("case", ["labels", "slopes", "null"])
@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_a_fit_passes_through_few_files(
    case: str, predictor: str, request: pytest.FixtureRequest
) -> None:
    """At most 37 files, those of the functions that run."""
    table, root = request.getfixturevalue(case), str(Path(kerhrm.__file__).parent)
    kind = KerHRMClassifier if case == "labels" else KerHRMRegressor
    steps = {"steps": 30, "if_not_better": "fit"} if predictor == "network" else {}
    model = kind(**SMALL, predictor=predictor, **steps)
    files: set[str] = set()

    def called(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            files.add(frame.f_code.co_filename)

    sys.setprofile(called)
    try:
        model.fit(table.x, table.y)
    finally:
        sys.setprofile(None)
    assert model.predictor_ == ("erm" if case == "null" else predictor)
    assert 10 < len(files) <= 37


def test_the_price_of_labels_is_told() -> None:
    labels = flipped_labels(600, 0, share=0.1)
    with pytest.warns(PriceWarning, match="margin=1 predicts as ERM"):
        model = KerHRMClassifier(**SMALL, if_not_better="fit").fit(labels.x, labels.y)
    told = model.report(labels.x, labels.y).facts["price"]
    assert "against ERM's" in told
    erm = KerHRMClassifier(**SMALL, margin=1.0)
    with pytest.warns(HeterogeneityNotDetectedWarning):
        assert erm.fit(labels.x, labels.y).predictor_ == "erm"


def test_rows_outside_the_fit_s_are_counted(slopes: Any) -> None:
    X = pd.DataFrame(slopes.x, columns=["a", "b", "c"])
    model = TangentRidge(task="regression", network=(64,)).fit(X, slopes.y)
    with warnings.catch_warnings(action="error"):
        model.predict(X)
    far = X.iloc[:10].copy()
    far.loc[3:4, "b"] = 50.0
    far.loc[4, "c"] = -50.0
    with pytest.warns(DataWarning, match=r"2 of 10 rows lie outside .*column 'b'"):
        model.predict(far)
