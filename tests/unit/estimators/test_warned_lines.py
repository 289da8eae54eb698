"""Warnings name the user's line, whatever lies between it and where they are raised."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from kerhrm import KerHRMClassifier, KerHRMRegressor, TangentRidge, table_encoder
from tests.unit.estimators.conftest import SMALL, flipped_labels

RIDGE = TangentRidge(task="regression", network=(64,), random_state=0)


def raised(call: Callable[[], Any]) -> list[str]:
    """Texts of the warnings of a call, each of which names its line."""
    _, line = inspect.getsourcelines(call)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    places = set()
    for warning in caught:
        places.add((warning.filename, warning.lineno))
    assert places == {(__file__, line)}
    return [str(warning.message) for warning in caught]


def told_of(words: str, call: Callable[[], Any]) -> None:
    texts = raised(call)
    assert any(words in text for text in texts)


def test_of_fit(null: Any) -> None:
    half = null.x[:150]
    x = np.repeat(half, 2, axis=0)
    y = null.y
    far = 9 * x
    model = KerHRMRegressor(**SMALL)
    told_of("predicting as ERM", lambda: model.fit(x, y))
    told_of("have the inputs of another", lambda: model.fit(x, y))
    outside = (far, y)
    told_of("lie outside", lambda: model.fit(x, y, validation=outside))
    same = (x, y)
    told_of("are rows of the fit", lambda: model.fit(x, y, validation=same))
    told_of("gives the target away", lambda: model.fit(x, y, auxiliary=y))
    ridge = clone(RIDGE)
    told_of("have the inputs of another", lambda: ridge.fit(x, y))
    chain = make_pipeline(clone(RIDGE))
    told_of("have the inputs of another", lambda: chain.fit(x, y))


def test_of_a_price() -> None:
    x, y, _ = flipped_labels(600, 0, share=0.1)
    model = KerHRMClassifier(**SMALL, if_not_better="fit")
    told_of("share of wrong labels", lambda: model.fit(x, y))


@pytest.mark.parametrize("method", ["predict", "score", "report"])
def test_of_a_fitted_model(method: str, slopes: Any) -> None:
    model = KerHRMRegressor(**SMALL)
    model.fit(slopes.x, slopes.y)
    call = getattr(model, method)
    far = 9 * slopes.x
    rows = (far, slopes.y)
    if method == "predict":
        rows = (far,)
    told_of("lie outside the rows of the fit", lambda: call(*rows))


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_of_two_labels(labels: Any) -> None:
    model = KerHRMClassifier(**SMALL)
    model.fit(labels.x, labels.y)
    far = 9 * labels.x
    told_of("lie outside", lambda: model.predict_proba(far))
    told_of("lie outside", lambda: model.decision_function(far))


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_of_auxiliary_columns(slopes: Any) -> None:
    halves = np.arange(500)
    columns = {"turned": slopes.hidden, "half": halves % 2}
    z = pd.DataFrame(columns)
    model = KerHRMRegressor(**SMALL)
    model.fit(slopes.x, slopes.y, auxiliary=z)
    bare = z.to_numpy()
    read = model.predict_environment_proba
    told_of("have no names", lambda: read(slopes.x, auxiliary=bare))


def test_of_an_encoder() -> None:
    fields = ["law", "care"] * 20
    table = pd.DataFrame({"field": fields})
    encoder = table_encoder().fit(table)
    strange = table.map(str.upper)
    told_of("look at its spelling", lambda: encoder.transform(strange))
    chain = make_pipeline(table_encoder(), clone(RIDGE))
    chain.fit(table, np.arange(40.0))
    told_of("look at its spelling", lambda: chain.predict(strange))
