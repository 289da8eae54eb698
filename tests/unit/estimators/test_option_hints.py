"""Hints that name an option of an estimator: what they say can be typed, and helps."""

import ast
import re
from typing import Any

import numpy as np
import pytest
from refusals import refusal
from sklearn.exceptions import ConvergenceWarning

from kerhrm import ERM, KerHRMClassifier, KerHRMRegressor, NTFMap
from kerhrm.errors import SingularError
from tests.unit.estimators.conftest import SMALL

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

QUICK = SMALL | {
    "k": 3,
    "n_init": 2,
    "network": (16,),
    "n_iterations": 1,
}


def test_the_hints_for_an_old_name_can_be_typed() -> None:
    words = r"give options=\{\"stop_by\": 'pooled'\}$"
    with refusal(words):
        KerHRMRegressor(selection="pooled")  # type: ignore[call-arg]
    model = KerHRMRegressor(options={"stop_by": "pooled"})
    with refusal(r"give options__stop_by='pooled'$"):
        model.set_params(selection="pooled")
    model.set_params(options__stop_by="pooled")
    assert model.options == {"stop_by": "pooled"}


def test_the_hint_for_a_part_of_a_parameter_can_be_typed() -> None:
    model = KerHRMRegressor()
    with refusal(r'^pretest__level: .*; give pretest=\{"level": 0.1\}$'):
        model.set_params(pretest__level=0.1)
    with refusal("^k__x: k has no parameters of its own; give k=...$"):
        model.set_params(k__x=1)
    model.set_params(pretest={"level": 0.1})
    assert model.pretest == {"level": 0.1}


def typed(hint: str) -> dict[str, Any]:
    """Options as a hint spells them."""
    given = re.search(r"options=(\{.*\})", hint)
    assert given, hint
    options: dict[str, Any] = ast.literal_eval(given[1])
    return options


def test_the_hint_for_a_training_that_diverges_can_be_typed(labels: Any) -> None:
    model = KerHRMClassifier(**QUICK, predictor="network", if_not_better="fit")
    model.set_params(options__learning_rate=1e30, options__steps=30)
    with pytest.warns(ConvergenceWarning, match="not finite; give options=") as caught:
        model.fit(labels.x, labels.y)
    message = str(caught[0].message)
    lower = typed(message)
    assert lower == {"learning_rate": 1e-3}
    # with labels, and with numbers of which the untrained network would be kept
    for task, y in (("classification", labels.y), ("regression", labels.x[:, 0])):
        erm = ERM(task=task, network=(8,), learning_rate=1e30, random_state=0)
        with pytest.warns(ConvergenceWarning, match="not finite; lower learning_rate$"):
            erm.fit(labels.x, y)


@pytest.mark.parametrize(
    ("rate", "what"),
    [
        pytest.param(100.0, "the training of the network diverged", id="enormous"),
        pytest.param(1e20, "outputs are not finite", id="no numbers"),
    ],
)
def test_a_network_that_diverges_is_warned_of(rate: float, what: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((160, 3))
    y = 2 * x[:, 0] + rng.standard_normal(160)
    flips = rng.integers(0, 2, 160) > 0
    x[:, 2] = np.where(flips, 1.0, -0.5) * y + 0.3 * rng.standard_normal(160)
    model = KerHRMRegressor(
        k=3,
        network=(16,),
        n_init=1,
        predictor="network",
        if_not_detected="fit",
        if_not_better="fit",
        options={"steps": 50, "learning_rate": rate},
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning, match=f"{what}; give") as caught:
        model.fit(x, y)
    assert len(caught) == 1
    lower = typed(str(caught[0].message))
    model.set_params(options={"steps": 50, **lower})
    model.fit(x, y)  # warnings are errors
    assert np.square(model.predict(x) - y).mean() < y.var()


def test_the_hint_for_singular_equations_can_be_typed(
    labels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options_at_fault = iter(["clustering_ridge", "clustering_ridge", "noise_sd"])

    def fails(*_: Any) -> None:
        raise SingularError("the clustering's equations", next(options_at_fault))

    monkeypatch.setattr("kerhrm.estimators._steps.fit", fails)
    cases = [(1e-300, 0.01), ([1e-3, 0.1], 1.0)]
    for ridge, larger in cases:
        options = {"clustering_ridge": ridge}
        model = KerHRMClassifier(**QUICK, options=options)
        with refusal("equations are singular; give") as caught:
            model.fit(labels.x, labels.y)
        message = str(caught.value)
        assert typed(message) == {"clustering_ridge": larger}
    model.set_params(options={"noise_sd": 1e-200})
    with refusal("singular; leave noise_sd out of options"):
        model.fit(labels.x, labels.y)


def test_the_hint_for_little_memory_helps(
    labels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features by way of landmarks need no matrix of all rows."""

    def fails(*_: Any, **__: Any) -> None:
        raise MemoryError

    model = KerHRMClassifier(**QUICK)
    x = np.tile(labels.x, (4, 1))
    y = np.tile(labels.y, 4)
    number = np.arange(len(x))[:, None]
    x = x + number * 1e-6  # rows that differ
    monkeypatch.setattr(NTFMap, "fit", fails)
    words = "fewer rows, or a smaller network, k or n_init, or options="
    with refusal(words) as caught:
        model.fit(x, y)
    options = typed(str(caught.value))
    model.set_params(options=options)
    model.fit(x, y)
