"""KerHRM's estimators are the library's own steps, find what is hidden, or say that nothing is."""

import doctest
import math
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kerhrm
import kerhrm.estimators.kerhrm as public
from kerhrm import ERM, KerHRMClassifier, KerHRMRegressor
from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import IGD, Clustering, Heterogeneity
from kerhrm.algorithm.problem import Problem
from kerhrm.errors import KerhrmError
from kerhrm.estimators import verdicts
from kerhrm.estimators.inputs import read_target
from kerhrm.estimators.learning import reduced
from kerhrm.estimators.notices import NothingFoundWarning
from kerhrm.estimators.tables import prepare
from kerhrm.features.map import NTFMap

SMALL: dict[str, Any] = {"k": (3, 5), "n_init": 4, "network": (64,), "random_state": 3}
LIBRARY = kerhrm.KerHRM(k=[3, 5], clustering=Clustering(restarts=4))


def by_hand(table: Any, task: Any) -> tuple[NTFMap, Problem, Any, Any]:
    """The same problem without an estimator's help, but for the split and the units."""
    y = read_target(table.y, len(table.x), task)
    units, samples, _ = prepare((table.x, y), None, None, task, fraction=0.2, seed=3)
    network = kerhrm.build(kerhrm.NetworkOptions(widths=[64]), [3], table.x.shape[1])
    features = NTFMap.fit(network, samples.x, 5)
    psi, f0 = features.transform(samples.x_validation)
    reduction, labels = features.reduction, (samples.y.double(), samples.y_validation.double())
    given = reduction.u, reduction.s, psi, features.f0, f0, *labels
    return features, Problem(*given, task, [3]), units, samples


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_it_is_the_library_s_fit(task: str, labels: Any, slopes: Any) -> None:
    table = labels if task == "classification" else slopes
    kind = KerHRMClassifier if task == "classification" else KerHRMRegressor
    model = kind(**SMALL).fit(table.x, table.y)
    features, problem, units, samples = by_hand(table, task)
    with torch.no_grad():
        found = fit(problem, LIBRARY)
        outputs = found.final.predict(*features.transform(units.inputs(table.x)[None]))[0].numpy()
    np.testing.assert_array_equal(model.theta_, found.final.theta[0])
    np.testing.assert_allclose(model.singular_values_, problem.s[0], rtol=1e-12)
    assert model.selected_["k"] == int(found.final.k)
    assert model.selected_["alpha"] == float(found.final.alpha)
    assert (model.selected_["T"], model.n_iter_) == (int(found.final.iteration), 3)
    assert [row["score"] for row in model.history_] == [
        float(directions.winner.score) for directions in found.history
    ]
    if task == "classification":
        np.testing.assert_allclose(model.decision_function(table.x), outputs, atol=1e-4)
    else:
        expected = outputs * units.spread + units.level
        np.testing.assert_allclose(model.predict(table.x), expected, rtol=1e-4, atol=1e-3)
    learned = found.learned[model.selected_["T"] - 1]
    place = learned.k[0].tolist().index(model.selected_["k"])
    inside = units.centre + units.scale * samples.x[0].double().numpy()
    target = samples.y[0].double().numpy() * units.spread + units.level
    proba = model.predict_environment_proba(inside, target)
    np.testing.assert_allclose(proba, learned.train[0, place], atol=0.02)


def test_the_network_is_that_of_step_3(labels: Any) -> None:
    options = kerhrm.KerHRM(network=IGD(penalty=[10.0, 100.0], steps=40))
    model = KerHRMClassifier(**SMALL, predictor="network", options=options).fit(labels.x, labels.y)
    features, problem, units, samples = by_hand(labels, "classification")
    with torch.no_grad():
        found = fit(problem, LIBRARY)
    predictions, chosen, _ = train_networks(
        features.network, problem, samples.x, samples.x_validation, units.inputs(labels.x)[None],
        found.final, found.learned, options.network, options.selection,
    )  # fmt: skip
    expected = predictions.test[0, chosen[0]].detach()
    np.testing.assert_allclose(model.decision_function(labels.x), expected, atol=1e-4)
    assert model.selected_["lambda"] == options.network.penalty[int(chosen)]


def test_hidden_environments_of_labels_are_found(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL).fit(labels.x, labels.y)
    assert adjusted_rand_score(labels.hidden, model.environments_) >= 0.9
    turned = np.column_stack([labels.x[:, 0], -labels.y])
    assert model.score(turned, labels.y) > ERM(network=(64,), random_state=3).fit(
        labels.x, labels.y
    ).score(turned, labels.y)
    assert model.converged_
    np.testing.assert_allclose(model.environment_proba_.sum(1), 1)
    report = model.heterogeneity_
    assert report.found is None
    assert math.isnan(report.p_value)
    assert report.assumption in str(report)
    assert report.cost in str(report)


def test_hidden_environments_of_numbers_are_found(slopes: Any) -> None:
    model = KerHRMRegressor(k=5, network=(256,), random_state=3).fit(slopes.x, slopes.y)
    assert model.heterogeneity_.found
    assert model.heterogeneity_.p_value <= 0.05
    assert "environments found: gain" in str(model.heterogeneity_)
    telling = np.abs(slopes.x[:, 1]) > 0.5  # elsewhere the noise hides which slope it was
    environments = model.environments_
    assert adjusted_rand_score(slopes.hidden[telling], environments[telling]) >= 0.9


def test_what_a_wrong_assumption_costs_is_what_was_measured() -> None:
    root = Path(__file__).parents[3]
    table = pd.read_csv(root / "results" / "reference" / "controls" / "controls.csv")
    own = (table.metric == "test_acc") & (
        table.selection.isin(["pooled validation"]) & (table.method == "ERM")
        | table.selection.isin(["worst learned environment"]) & (table.method == "KerHRM (NTF)")
    )
    measured = table[own].set_index(["setting", "method"])["mean"]
    for setting in ("r2=0.80", "r2=0.80,environments=one,test=alike"):
        for method in ("ERM", "KerHRM (NTF)"):
            assert f"{measured[setting, method]:.3f}"[1:] in verdicts.COST


def test_where_nothing_is_found_it_is_erm(null: Any) -> None:
    with pytest.warns(NothingFoundWarning, match="predicting as pooled ERM"):
        model = KerHRMRegressor(**SMALL).fit(null.x, null.y)
    erm = ERM(task="regression", network=(64,), random_state=3).fit(null.x, null.y)
    np.testing.assert_array_equal(model.predict(null.x), erm.predict(null.x))
    assert (model.predictor_, model.heterogeneity_.found) == ("erm", False)
    assert set(model.environments_) == {0}
    assert model.environment_proba_.shape == (300, 1)
    assert (model.selected_["T"], model.history_, model.n_iter_) == (0, [], 0)


def test_that_nothing_was_found_can_be_ignored(null: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", NothingFoundWarning)
        model = KerHRMRegressor(**SMALL, when_homogeneous="ignore").fit(null.x, null.y)
    assert (model.predictor_, model.heterogeneity_.found) == ("ntf", False)


def test_few_rows_are_not_tested_and_are_erm(slopes: Any) -> None:
    with pytest.warns(NothingFoundWarning, match="40 training rows are fewer than 80"):
        model = KerHRMRegressor(**SMALL).fit(slopes.x[:50], slopes.y[:50])
    assert model.predictor_ == "erm"


def test_copies_of_rows_are_tested_once(null: Any) -> None:
    """However often rows are repeated, the test has no more to say than of one of each."""
    few = Heterogeneity(folds=2, restarts=1, max_iterations=10, tolerance=1e-2)

    def told(rows: np.ndarray) -> verdicts.HeterogeneityReport:
        x, y = torch.from_numpy(null.x[rows]), torch.from_numpy(null.y[rows])[None]
        nothing, s = torch.zeros_like(y), torch.ones(1, 3, dtype=torch.float64)
        problem = Problem(x[None], s, x[None], nothing, nothing, y, y, "regression", [3])
        return verdicts.report(problem, x, few)

    once = told(np.arange(100))
    again = told(np.repeat(np.arange(100), np.arange(100) % 3 + 1))
    assert (once.n_rows, again.n_rows) == (100, 100)
    assert (again.verdict, again.p_value) == (once.verdict, once.p_value)
    np.testing.assert_allclose([again.statistic, *again.null], [once.statistic, *once.null])
    assert "70 different training rows are fewer than 80" in told(np.repeat(range(70), 2)).verdict


def test_the_order_of_rows_changes_nothing(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL).fit(labels.x, labels.y)
    order = np.random.default_rng(0).permutation(len(labels.y))
    again = clone(model).fit(labels.x[order], labels.y[order])
    np.testing.assert_array_equal(again.predict_proba(labels.x), model.predict_proba(labels.x))
    np.testing.assert_allclose(again.environment_proba_, model.environment_proba_[order])


def test_weights_are_copies_of_rows(labels: Any) -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(labels.y))
    weighted = KerHRMClassifier(**SMALL).fit(labels.x, labels.y, sample_weight=2 * weight)
    x, y = np.repeat(labels.x, weight, axis=0), np.repeat(labels.y, weight)
    repeated = KerHRMClassifier(**SMALL).fit(x, y)
    np.testing.assert_array_equal(
        weighted.predict_proba(labels.x), repeated.predict_proba(labels.x)
    )
    assert len(weighted.environments_) == len(labels.y)


def test_landmarks_come_near_the_exact_features(labels: Any) -> None:
    exact = KerHRMClassifier(**SMALL).fit(labels.x, labels.y)
    near = KerHRMClassifier(**SMALL, max_exact=100, n_landmarks=150).fit(labels.x, labels.y)
    np.testing.assert_allclose(near.singular_values_, exact.singular_values_, rtol=0.02)
    assert np.mean(near.predict(labels.x) == exact.predict(labels.x)) > 0.97
    assert adjusted_rand_score(near.environments_, exact.environments_) > 0.95


def test_k_is_lowered_to_what_there_is(labels: Any) -> None:
    few = KerHRMClassifier(random_state=0, network=(16,)).fit(labels.x[:20], labels.y[:20])
    assert len(few.theta_) == 8  # 16 rows train, 8 for each environment
    x = np.repeat([[0.0], [1.0], [2.0]], 20, axis=0)
    flat = KerHRMClassifier(random_state=0, network=(16,)).fit(x, x[:, 0] > 0)
    assert len(flat.theta_) <= 3


def test_an_error_that_is_not_about_rank_is_told(
    labels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KerhrmError("the disk is full")

    monkeypatch.setattr("kerhrm.estimators.learning._reduced", broken)
    _, _, _, samples = by_hand(labels, "classification")
    network = kerhrm.build(kerhrm.NetworkOptions(widths=[8]), [0], 2)
    with pytest.raises(ValueError, match="the disk is full"):
        reduced(network, samples, 5, max_exact=1000, landmarks=10)


def test_given_rows_validate(labels: Any) -> None:
    given = KerHRMClassifier(**SMALL).fit(
        labels.x[:300], labels.y[:300], validation=(labels.x[300:], labels.y[300:])
    )
    assert given.score(labels.x, labels.y) > 0.7
    with pytest.raises(ValueError, match=r"label 3.0 was not among those of the fit; known are"):
        KerHRMClassifier(**SMALL).fit(labels.x, labels.y, validation=(labels.x[:1], [3.0]))


@pytest.mark.parametrize(
    "clustering",
    [
        Clustering(restarts=4, kernel="inputs", target="label"),
        Clustering(restarts=4, intercept=True, spread="each", projection="all"),
    ],
    ids=["inputs and labels", "intercepts and spreads"],
)
def test_memberships_follow_the_options(clustering: Clustering, slopes: Any) -> None:
    options = kerhrm.KerHRM(k=[5], clustering=clustering, end="last", guard=None)
    given = dict(SMALL, k=None, n_init=None)
    model = KerHRMRegressor(**given, options=options).fit(slopes.x, slopes.y)
    _, problem, _, samples = by_hand(slopes, "regression")
    with torch.no_grad():
        found = fit(problem, options, (samples.x, samples.x_validation))
    units = model._units
    x = units.centre + units.scale * samples.x[0].double().numpy()
    y = samples.y[0].double().numpy() * units.spread + units.level
    np.testing.assert_allclose(
        model.predict_environment_proba(x, y), found.learned[-1].train[0, 0], atol=0.02
    )
    assert model.heterogeneity_.verdict == verdicts.NOT_ASKED


@pytest.mark.parametrize("network", ["factories:wide", "callable"])
def test_any_torch_module_is_a_network(network: str, labels: Any) -> None:
    import factories

    given = dict(SMALL, network=factories.wide if network == "callable" else network)
    model = KerHRMClassifier(**given).fit(labels.x, labels.y)
    assert adjusted_rand_score(labels.hidden, model.environments_) > 0.9


def test_it_is_at_home_in_scikit_learn(labels: Any) -> None:
    frame = pd.DataFrame(labels.x, columns=["telling", "spurious"])
    names = pd.Series(np.where(labels.y > 0, "yes", "no"), name="answer")
    pipeline = make_pipeline(StandardScaler(), KerHRMClassifier(**SMALL))
    pipeline.set_output(transform="pandas").fit(frame, names)
    assert list(pipeline[-1].feature_names_in_) == ["telling", "spurious"]
    assert list(pipeline.classes_) == ["no", "yes"]
    search = GridSearchCV(KerHRMClassifier(**SMALL), {"k": [2, 4]}, cv=2).fit(frame, names)
    assert search.best_params_["k"] in (2, 4)
    assert len(cross_val_score(search.best_estimator_, frame, names, cv=2)) == 2
    # in another process, as scikit-learn's n_jobs does it
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = pool.submit(pipeline.predict_proba, frame).result()
    np.testing.assert_array_equal(elsewhere, pipeline.predict_proba(frame))
    with pytest.raises(NotFittedError):
        clone(pipeline[-1]).predict(frame)


def test_random_states_and_cores(labels: Any) -> None:
    given = dict(SMALL, random_state=np.random.RandomState(5), k=3)
    first = KerHRMClassifier(**given, n_jobs=1).fit(labels.x, labels.y)
    given["random_state"] = first.seed_
    again = KerHRMClassifier(**given, n_jobs=-1).fit(labels.x, labels.y)
    np.testing.assert_allclose(first.theta_, again.theta_, rtol=1e-3, atol=1e-6)
    assert torch.get_num_threads() == 1


def test_progress_is_shown_if_asked_for(labels: Any, capsys: pytest.CaptureFixture[str]) -> None:
    KerHRMClassifier(**SMALL, verbose=2).fit(labels.x, labels.y)
    assert "KerHRM: 100%" in capsys.readouterr().err


def test_a_regressor_gives_no_probabilities() -> None:
    for method in ("predict_proba", "decision_function"):
        assert not hasattr(KerHRMRegressor(), method)
        assert hasattr(KerHRMClassifier(), method)


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.notices.KerhrmWarning")
def test_examples_of_docstrings() -> None:
    results = doctest.testmod(public)
    assert (results.failed, results.attempted > 20) == (0, True)
