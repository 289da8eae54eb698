"""Baselines as estimators are the registry's methods, by their own entry points."""

import doctest
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

import kerhrm
from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.estimators import baselines
from kerhrm.estimators.inputs import read_target
from kerhrm.estimators.tables import prepare, split
from kerhrm.methods.registry import METHODS

QUICK: dict[str, dict[str, Any]] = {
    "ERM": {"steps": 30},
    "ChiSquareDRO": {"steps": 30, "rho": 0.2},
    "IRM": {"steps": 30, "anneal": 10},
    "EIIL": {"steps": 30, "inference_steps": 20},
    "HRM": {"iterations": 1, "cluster_steps": 50, "gate_steps": 50},
}


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", QUICK)
def test_they_are_the_registry_s_methods(name: str, task: Any, labels: Any, slopes: Any) -> None:
    table = labels if task == "classification" else slopes
    kind = getattr(kerhrm, name)
    method = METHODS[kind._method]
    given = {"environments": np.where(table.hidden, "b", "a")} if method.labels else {}
    model = kind(task=task, network=(16,), random_state=4, **QUICK[name])
    model.fit(table.x, table.y, **given)

    target = read_target(table.y, len(table.y), task)
    hidden = table.hidden.astype(np.int64) if method.labels else None
    rows = table.x, target
    units, samples, _ = prepare(rows, None, None, task, fraction=0.2, seed=4, environment=hidden)
    w0 = kerhrm.build(kerhrm.NetworkOptions(widths=[16]), [4], table.x.shape[1])
    loss = {"loss": "squared"} if name == "IRM" and task == "regression" else {}
    options = load(method.options)(**QUICK[name], **loss)
    stops = [[getattr(options, method.path)]] if method.path else []
    trained = load(method.entry)(samples, w0, options, *stops)
    predictor = trained[0] if method.path else trained
    with torch.no_grad():
        outputs = predictor(units.inputs(table.x)[None])[0].double().numpy()
    if task == "regression":
        expected = outputs * units.spread + units.level
        np.testing.assert_allclose(model.predict(table.x), expected, rtol=1e-4, atol=1e-4)
        return
    np.testing.assert_allclose(model.decision_function(table.x), outputs, atol=1e-5)
    second = model.predict_proba(table.x)[:, 1]
    logistic = name == "IRM"
    expected = 1 / (1 + np.exp(-outputs)) if logistic else ((1 + outputs) / 2).clip(0, 1)
    np.testing.assert_allclose(second, expected, atol=1e-5)


def test_irm_sees_the_environments_it_is_given(labels: Any) -> None:
    """With them it leaves the feature that turns; its rows' order does not matter."""
    model = kerhrm.IRM(network=(64,), random_state=0)
    turned = np.column_stack([labels.x[:, 0], -labels.y])
    with pytest.warns(UserWarning, match="no environments given"):
        alone = model.fit(labels.x, labels.y).score(turned, labels.y)
    model.fit(labels.x, labels.y, environments=labels.hidden)
    assert model.score(turned, labels.y) > alone + 0.1
    outputs, order = model.decision_function(turned), np.random.default_rng(1).permutation(400)
    model.fit(labels.x[order], labels.y[order], environments=labels.hidden[order])
    np.testing.assert_array_equal(model.decision_function(turned), outputs)


@pytest.mark.parametrize("name", ["EIIL", "HRM"])
def test_they_keep_the_environments_they_inferred(name: str, labels: Any) -> None:
    """Row by row, in the table's order, whichever rows validate; rows of weight 0 have none."""
    model = getattr(kerhrm, name)(random_state=0, **{"network": (16,)} | QUICK[name])
    if name == "EIIL":
        model.set_params(loss="logistic", reference_steps=200, inference_steps=1000)
    found = model.fit(labels.x, labels.y).environments_
    assert adjusted_rand_score(labels.hidden, found) > 0.6
    order = np.random.default_rng(1).permutation(400)
    again = model.fit(labels.x[order], labels.y[order]).environments_
    np.testing.assert_array_equal(again, found[order])
    weight = np.where(np.arange(400) < 10, 0, np.where(np.arange(400) < 20, 2, 1))
    weighted = model.fit(labels.x, labels.y, sample_weight=weight).environments_
    assert (weighted[:10] == -1).all()
    assert (weighted[10:] >= 0).all()
    apart = model.fit(labels.x[100:], labels.y[100:], validation=(labels.x[:100], labels.y[:100]))
    assert adjusted_rand_score(labels.hidden[100:], apart.environments_) > 0.6


def test_any_method_that_reads_points_makes_one(labels: Any) -> None:
    kind = baselines.estimator("iga", "IGA")
    model = kind(network=(8,), steps=20, random_state=0)
    assert model.fit(labels.x, labels.y, environments=labels.hidden).score(labels.x, labels.y) > 0.5
    assert "penalty" in kind().get_params()
    assert "environments :" in str(kind.fit.__doc__)
    assert not hasattr(model, "environments_")
    assert "environments_ :" not in str(kind.__doc__)
    with pytest.raises(KerhrmError, match="method 'kerhrm' reads no points"):
        baselines.estimator("kerhrm", "Mine")


@pytest.mark.parametrize(
    ("classes", "fraction", "size"),
    [(None, 0.2, 4), ([0] * 10 + [1] * 10, 0.2, 4), ([0] * 19 + [1], 0.25, 5), (None, 1e-6, 1)],
)
def test_rows_are_split(classes: list[int] | None, fraction: float, size: int) -> None:
    labels = None if classes is None else np.array(classes)
    train, validation = split(20, fraction, 0, labels)
    assert sorted([*train, *validation]) == list(range(20))
    assert len(validation) == size
    if labels is not None:
        assert set(labels[train]) == {0, 1}


@pytest.mark.parametrize("kind", [kerhrm.ERM, kerhrm.IRM])
def test_their_examples(kind: type) -> None:
    for test in doctest.DocTestFinder(recurse=False).find(kind, globs={}):
        assert doctest.DocTestRunner().run(test).failed == 0
