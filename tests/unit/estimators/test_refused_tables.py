"""What is wrong with a table or a parameter is a KerhrmError of one line, or
scikit-learn's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from sklearn.exceptions import ConvergenceWarning

from kerhrm import (
    EIIL,
    ERM,
    IRM,
    KerHRMClassifier,
    KerHRMRegressor,
)

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

N = 40
SMALL: dict[str, Any] = {
    "k": 2,
    "n_init": 1,
    "n_iterations": 1,
    "network": (8,),
}
RANDOM = np.random.default_rng(0)
COLUMNS = RANDOM.normal(size=(N, 3))
X = pd.DataFrame(COLUMNS, columns=["age", "height", "city"])
AGE = X["age"]
IS_YES = AGE + RANDOM.normal(size=N) > 0
LABELS = np.where(IS_YES, "yes", "no")
NOISE = RANDOM.normal(size=N)
NUMBERS = AGE.to_numpy() + NOISE
CLASSIFIER = KerHRMClassifier(**SMALL)
REGRESSOR = KerHRMRegressor(**SMALL)


def with_value(value: Any, column: str = "height") -> pd.DataFrame:
    changed = X.copy()
    if isinstance(value, str):
        changed = X.astype({column: object})
    changed.loc[3, column] = value
    return changed


def with_label(y: np.ndarray, value: Any) -> np.ndarray:
    changed = y.astype(object)
    changed[7] = value
    return changed


def fit(
    x: Any = X, y: Any = LABELS, model: Any = CLASSIFIER, **given: Any
) -> Callable[[], Any]:
    return lambda: model.fit(x, y, **given)


def predict(x: Any) -> Callable[[], Any]:
    return lambda: CLASSIFIER.fit(X, LABELS).predict(x)


def wrong(**parameters: Any) -> Callable[[], Any]:
    changed = SMALL | parameters
    return fit(model=KerHRMClassifier(**changed))


NAMED: dict[str, tuple[Callable[[], Any], str]] = {
    "a missing value": (
        fit(with_value(np.nan)),
        "column 'height' has missing .* index 3",
    ),
    "a code for missing": (
        fit(with_value(1e30)),
        r"column 'height' has .* with 1e\+30",
    ),
    "text": (
        fit(with_value("Paris", "city")),
        r"column 'city' must .*'Paris' in index 3",
    ),
    "text in an array": (
        fit(np.array([["1", "2"], ["3", "red"]] * 20)),
        "column 1 must .*'red' in row 1 .*from 0",
    ),
    "dates": (
        fit(X.assign(born=pd.Timestamp("2001-02-03"))),
        "column 'born' .*'2001-02-03",
    ),
    "a missing label": (
        fit(y=with_label(LABELS, None)),
        r"target y is missing .* row 7 \(counted",
    ),
    "three classes": (
        fit(y=np.arange(N) % 3),
        "target is multiclass; wrap .*OneVsRestClassifier",
    ),
    "an unknown label": (
        fit(validation=(X, np.full(N, "maybe"))),
        "label 'maybe' was not among",
    ),
    "a new category": (
        predict(with_value("Paris", "city")),
        "column 'city' must hold .*'Paris'",
    ),
    "a weight below zero": (wrong(alpha=[0.1, -1.0]), "alpha.1=-1.0"),
    "an empty layer": (wrong(network=(8, 0)), "network: widths.1=0"),
    "two outputs": (
        wrong(network="factories:vector"),
        r"one number each; got \(16, 2\)",
    ),
    "singular equations": (
        wrong(options={"clustering_ridge": [1e-300], "noise_sd": 1e-200}),
        "leave noise_sd out of options, or raise it",
    ),
    "the loss of labels": (
        fit(y=NUMBERS, model=EIIL(task="regression", loss="logistic")),
        "loss='logistic' needs",
    ),
    "rows without an environment": (
        fit(model=IRM(), environments=[None, np.nan, *LABELS[2:]]),
        "are missing in 2 rows",
    ),
    "environments of another length": (
        fit(model=IRM(), environments=[0, 1]),
        "for 40 rows",
    ),
    "a renamed column": (
        predict(X.rename(columns={"city": "town"})),
        "unseen at fit time",
    ),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_is_wrong_is_named(case: str) -> None:
    """That any bad call is one line: see test_bad_calls.py."""
    do, message = NAMED[case]
    with pytest.raises(ValueError, match=message):
        do()


@pytest.mark.parametrize(
    "model",
    [
        ERM(learning_rate=1e20, random_state=0),
        IRM(learning_rate=1e20, random_state=0),
    ],
)
def test_a_diverged_training_is_warned_of(model: Any) -> None:
    given = {}
    if isinstance(model, IRM):
        given = {"environments": LABELS}
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model.fit(X, LABELS, **given)
    with pytest.warns(ConvergenceWarning, match="40 predictions are not finite"):
        model.predict(X)


def numbers_by_erm() -> ERM:
    return ERM(task="regression", network=(8,), steps=20, random_state=0)


@pytest.mark.parametrize("scale", [1e-200, 1e-300, 1e15])
def test_units_do_not_matter(scale: float) -> None:
    model = numbers_by_erm()
    expected = model.fit(X, NUMBERS).predict(X)
    model.fit(X, NUMBERS * scale)
    of_scaled_target = model.predict(X) / scale
    scaled_inputs = X * scale
    model.fit(scaled_inputs, NUMBERS)
    of_scaled_inputs = model.predict(scaled_inputs)
    assert_allclose(of_scaled_target, expected, 1e-4)
    assert_allclose(of_scaled_inputs, expected, 1e-4)


def test_tensors_with_gradients_are_tables() -> None:
    x = torch.tensor(X.to_numpy(), requires_grad=True)
    y = torch.tensor(NUMBERS, requires_grad=True)
    model = numbers_by_erm()
    model = model.fit(x, y)
    assert model.predict(x).shape == (N,)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([False, True], "b"),
        ([0, 1], "i"),
        ([1, 2.0], "f"),
        (["no", "yes"], "O"),
    ],
)
def test_labels_among_objects_are_what_they_are(values: list[Any], kind: str) -> None:
    is_yes = (LABELS == "yes").astype(int)
    objects = np.array(values, dtype=object)
    y = objects[is_yes]
    model = ERM(network=(8,), steps=20, random_state=0)
    model = model.fit(X, y, validation=(X, y))
    assert model.classes_.tolist() == values
    if kind != "O":
        assert model.predict(X).dtype.kind == kind
    agrees = model.predict(X) == y
    assert np.mean(agrees) > 0.5


def test_two_fractions_are_named_as_labels_by_the_hint() -> None:
    is_odd = np.arange(100) % 2
    y = np.where(is_odd, 9.5, 10.5)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    with refusal(r"give y == 10\.5$"):
        KerHRMClassifier().fit(X, y)
    model = KerHRMClassifier(n_iterations=1).fit(X, y == 10.5)
    assert model.classes_.tolist() == [False, True]
