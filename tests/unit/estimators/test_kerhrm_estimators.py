"""KerHRM's estimators are the library's own steps, and infer what is hidden."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from kerhrm import (
    ERM,
    KerHRMClassifier,
    KerHRMOptions,
    KerHRMRegressor,
    NTFMap,
    Problem,
)
from kerhrm.algorithm.igd import train_network
from kerhrm.algorithm.loop import fit
from kerhrm.estimators._start import GivenRows, learn_units, points_of, read_rows
from tests.unit.estimators.conftest import SMALL

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")
OPTIONS = KerHRMOptions(k=[3, 5], n_init=4)


def by_hand(model: Any, table: Any) -> tuple[NTFMap, Problem, Any]:
    """The same problem without the estimator's help, but for the split
    and the units."""
    model = clone(model)
    given = GivenRows(table.x, table.y)
    rows = read_rows(model, given)
    inputs, _ = points_of(model, rows, learn_units(model, rows))
    with torch.no_grad():
        features = NTFMap.fit(inputs.network, inputs.x, 5)
        problem = Problem.from_features(
            features,
            inputs.x_validation,
            inputs.y,
            inputs.y_validation,
            inputs.task,
            3,
        )
    return features, problem, inputs


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_it_is_the_library_s_fit(task: str, labels: Any, slopes: Any) -> None:
    table = labels if task == "classification" else slopes
    kind = KerHRMClassifier if task == "classification" else KerHRMRegressor
    model = kind(**SMALL)
    model.fit(table.x, table.y)
    features, problem, _ = by_hand(model, table)
    units = model._units
    with torch.no_grad():
        result = fit(problem, OPTIONS)
        points = units.inputs(table.x)
        psi, f0 = features.transform(points)
        predictions = result.final.predict(psi, f0)
        outputs = predictions.numpy()
    assert_array_equal(model.theta_, result.final.theta)
    assert_allclose(model.singular_values_, problem.s, rtol=1e-12)
    for name in ("k", "alpha", "iteration", "score"):
        expected_value = getattr(result.final, name)
        assert model.selected_[name] == expected_value
    scores_in_history = [row["score"] for row in model.history_]
    assert scores_in_history == result.scores.tolist()
    chosen = [row["iteration"] for row in model.history_ if row["chosen"]]
    assert chosen == [result.final.iteration]
    if task == "classification":
        outputs_of_model = model.decision_function(table.x)
        assert_allclose(outputs_of_model, outputs, atol=1e-4)
    else:
        expected = outputs * units.y_scale + units.y_mean
        predictions = model.predict(table.x)
        assert_allclose(predictions, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.filterwarnings(
    "ignore::kerhrm.estimators.KerhrmWarning"
)  # degenerate ones
@pytest.mark.parametrize(
    ("parameters", "options"),
    [
        ({}, {}),
        ({"n_iterations": 2}, {"e_step": "hard", "final": "last"}),
        (
            {"n_iterations": 1},
            {"first_kernel": "inputs", "clustering_target": "label"},
        ),
        (
            {},
            {
                "clustering_intercept": True,
                "noise_variance": "per_cluster",
                "projection": "all",
            },
        ),
        ({"n_environments": 4}, {"min_share": 0.3}),
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
    parameters: dict[str, Any], options: dict[str, Any], slopes: Any
) -> None:
    """Row by row, for new rows as well: nothing is fitted again.

    The largest environment is the first one.
    """
    model = KerHRMRegressor(
        **SMALL,
        **parameters,
        options=options,
        pretest=False,
        if_not_better="fit",
    )
    model.fit(slopes.x, slopes.y)
    _, problem, inputs = by_hand(model, slopes)
    again = clone(model)
    given = GivenRows(slopes.x, slopes.y)
    rows = read_rows(again, given)
    _, positions = points_of(again, rows, learn_units(again, rows))
    with torch.no_grad():
        points = inputs.x, inputs.x_validation
        settings = OPTIONS.model_copy(update=parameters | options)
        result = fit(problem, settings, points)
    iteration = model.selected_["iteration"]
    environments = result.environments[iteration - 1]
    one = environments.candidate(model.selected_["k"])
    every = torch.cat([one.train, one.validation])
    memberships = every[:, one.occupied]
    memberships /= memberships.sum(1, keepdim=True)
    sizes = memberships.sum(0)
    largest_first = sizes.argsort(descending=True)
    expected = memberships[positions][:, largest_first]
    assert_allclose(model.environment_proba_, expected, atol=1e-12)
    assert_array_equal(model.environments_, expected.argmax(1))
    proba = model.predict_environment_proba(slopes.x, slopes.y)
    assert_allclose(proba, model.environment_proba_, atol=1e-3)


def test_the_network_is_that_of_the_network_training_step(labels: Any) -> None:
    chosen: dict[str, Any] = {
        "cosine_weight": [10.0, 100.0],
        "steps": 40,
    }
    model = KerHRMClassifier(
        **SMALL, predictor="network", if_not_better="fit", options=chosen
    )
    model.fit(labels.x, labels.y)
    features, problem, inputs = by_hand(model, labels)
    options = OPTIONS.model_copy(update=chosen)
    with torch.no_grad():
        result = fit(problem, options)
    trained = train_network(
        features.network,
        inputs.x,
        inputs.x_validation,
        problem,
        result.final,
        result.environments,
        options,
    )
    points = model._units.inputs(labels.x)
    expected = trained.network(points).detach()
    outputs = model.decision_function(labels.x)
    assert_allclose(outputs, expected, atol=1e-4)
    assert model.selected_["cosine_weight"] == trained.cosine_weight


def test_hidden_environments_of_labels_are_inferred(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL)
    model.fit(labels.x, labels.y)
    assert adjusted_rand_score(labels.hidden, model.environments_) >= 0.9
    stable = labels.x[:, 0]
    flipped = np.column_stack([stable, -labels.y])
    erm = ERM(network=(64,), random_state=3)
    erm = erm.fit(labels.x, labels.y)
    score_of_erm = erm.score(flipped, labels.y)
    assert model.score(flipped, labels.y) > score_of_erm
    assert_allclose(model.environment_proba_.sum(1), 1)
    assert model.heterogeneity_ is None


def test_hidden_environments_of_numbers_are_inferred(slopes: Any) -> None:
    model = KerHRMRegressor(k=5, network=(256,), random_state=3)
    model.fit(slopes.x, slopes.y)
    assert model.heterogeneity_.detected
    assert model.heterogeneity_.p_value <= 0.05
    size = np.abs(slopes.x[:, 1])
    clear = size > 0.5  # elsewhere the noise hides which slope it was
    environments = model.environments_[clear]
    hidden = slopes.hidden[clear]
    assert adjusted_rand_score(hidden, environments) >= 0.9


def test_the_order_of_rows_changes_nothing(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL)
    model.fit(labels.x, labels.y)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(labels.y))
    permuted = labels.x[order]
    again = clone(model)
    again.fit(permuted, labels.y[order])
    probabilities = again.predict_proba(labels.x)
    assert_array_equal(probabilities, model.predict_proba(labels.x))
    memberships = model.environment_proba_[order]
    assert_allclose(again.environment_proba_, memberships)


def test_landmarks_come_near_the_exact_features(labels: Any) -> None:
    exact = KerHRMClassifier(**SMALL)
    exact.fit(labels.x, labels.y)
    landmarks = {"max_exact": 100, "n_landmarks": 150}
    near = KerHRMClassifier(**SMALL, options=landmarks)
    near = near.fit(labels.x, labels.y)
    assert_allclose(near.singular_values_, exact.singular_values_, rtol=0.02)
    expected = exact.predict(labels.x)
    agrees = near.predict(labels.x) == expected
    assert np.mean(agrees) > 0.97
    assert adjusted_rand_score(near.environments_, exact.environments_) > 0.95


def test_k_is_lowered_to_what_there_is(labels: Any) -> None:
    model = KerHRMClassifier(random_state=0, network=(16,), if_not_better="fit")
    x_few = labels.x[:20]
    few = clone(model)
    few.fit(x_few, labels.y[:20])
    assert len(few.theta_) == 8  # 16 rows train, 8 for each environment
    values = np.array([0.0, 1.0, 2.0])
    x = np.repeat(values, 20)[:, None]
    is_positive = x[:, 0] > 0
    flat = clone(model).fit(x, is_positive)
    assert len(flat.theta_) <= 3


def test_given_rows_validate(labels: Any) -> None:
    x = labels.x[:300]
    y = labels.y[:300]
    held_out = (labels.x[300:], labels.y[300:])
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    model.fit(x, y, validation=held_out)
    assert model.score(labels.x, labels.y) > 0.7
    hidden = labels.hidden[:300]
    assert adjusted_rand_score(hidden, model.environments_) > 0.9


@pytest.mark.parametrize("network", ["factories:wide", "callable"])
def test_any_torch_module_is_a_network(network: str, labels: Any) -> None:
    import factories

    given = factories.wide if network == "callable" else network
    chosen = SMALL | {"network": given}
    model = KerHRMClassifier(**chosen)
    model.fit(labels.x, labels.y)
    assert adjusted_rand_score(labels.hidden, model.environments_) > 0.9
