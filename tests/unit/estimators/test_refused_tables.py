"""What is wrong with a table or a parameter is a KerhrmError of one line, or scikit-learn's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from kerhrm import EIIL, ERM, IRM, KerHRMClassifier, KerHRMRegressor
from kerhrm.errors import KerhrmError

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

N = 40
SMALL: dict[str, Any] = {"k": 2, "n_init": 1, "n_iterations": 1, "network": (8,)}
RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(N, 3)), columns=["age", "height", "city"])
LABELS = np.where(X["age"] + RANDOM.normal(size=N) > 0, "yes", "no")
NUMBERS = X["age"].to_numpy() + RANDOM.normal(size=N)
CLASSIFIER, REGRESSOR = KerHRMClassifier(**SMALL), KerHRMRegressor(**SMALL)


def with_value(value: Any, column: str = "height") -> pd.DataFrame:
    changed = X.astype({column: object}) if isinstance(value, str) else X.copy()
    changed.loc[3, column] = value
    return changed


def with_label(y: np.ndarray, value: Any) -> np.ndarray:
    changed = y.astype(object)
    changed[7] = value
    return changed


def fit(x: Any = X, y: Any = LABELS, model: Any = CLASSIFIER, **given: Any) -> Callable[[], Any]:
    return lambda: model.fit(x, y, **given)


def predict(x: Any) -> Callable[[], Any]:
    return lambda: CLASSIFIER.fit(X, LABELS).predict(x)


def wrong(**parameters: Any) -> Callable[[], Any]:
    return fit(model=KerHRMClassifier(**(SMALL | parameters)))


OURS: dict[str, tuple[Callable[[], Any], str]] = {
    "a missing value": (fit(with_value(np.nan)), "column 'height' has missing .* row 3"),
    "an infinite value": (fit(with_value(-np.inf)), "column 'height' has .* first in row 3"),
    "a code for missing": (fit(with_value(1e30)), r"column 'height' has .* \(1e\+30\)"),
    "text": (fit(with_value("Paris", "city")), r"column 'city' holds 'Paris' \(row 3\)"),
    "text in an array": (
        fit(np.array([["1", "2"], ["3", "red"]] * 20)), r"column 1 holds 'red' \(row 1\)",
    ),
    "dates": (fit(X.assign(born=pd.Timestamp("2001-02-03"))), "column 'born' holds '2001-02-03"),
    "a repeated name": (fit(X.set_axis(["a", "b", "a"], axis=1)), "two columns are called 'a'"),
    "no target": (fit(y=None), "requires y to be passed, but the target y is None"),
    "a missing label": (fit(y=with_label(LABELS, None)), r"target y is missing .* first in row 7"),
    "an enormous target": (fit(y=with_label(NUMBERS, 1e30), model=REGRESSOR), "the target y has"),
    "a constant target": (fit(y=np.full(N, 3.5), model=REGRESSOR), "the target y is constant"),
    "one class": (fit(y=np.full(N, "yes")), "only one class or value, yes"),
    "three classes": (fit(y=np.arange(N) % 3), "target is multiclass; wrap .* OneVsRestClassifier"),
    "another length": (fit(y=LABELS[:-1]), "40 rows of X but 39 of y"),
    "two rows": (fit(X[:2], ["no", "yes"]), "n_samples=2 rows are too few"),
    "three rows": (fit(X[:3], ["no", "yes", "no"]), "2 training rows are too few .*_environments"),
    "an unknown label": (fit(validation=(X, np.full(N, "maybe"))), "label 'maybe' was not among"),
    "a new category": (predict(with_value("Paris", "city")), "column 'city' holds 'Paris'"),
    "no predictor": (wrong(predictor="tree"), "predictor='tree'"),
    "no fallback": (wrong(if_not_detected="stop"), "if_not_detected='stop'"),
    "no k": (wrong(k=0), "k.*=0: must be greater than 0"),
    "no such penalty": (wrong(penalty="none"), "penalty='none'"),
    "a weight below zero": (wrong(alpha=[0.1, -1.0]), "alpha.1=-1.0"),
    "no landmarks": (wrong(n_landmarks=0), "n_landmarks=0"),
    "no pretest": (wrong(pretest="yes"), "pretest.*='yes'"),
    "verbose": (wrong(verbose="x"), "verbose='x'"),
    "all rows validate": (wrong(validation_fraction=1.0), "validation_fraction=1.0 is not between"),
    "no network": (wrong(network=3.5), "network: widths.0=3.5"),
    "an empty layer": (wrong(network=(8, 0)), "network: widths.1=0"),
    "no module": (wrong(network="nowhere:net"), "cannot load 'nowhere:net'"),
    "a nameless factory": (wrong(network=lambda d: torch.nn.Linear(d, 1)), "top level of a module"),
    "two outputs": (wrong(network="factories:vector"), r"maps 16 points to \(16, 2\)"),
    "no such device": (wrong(device="gpu"), "device='gpu' is not known"),
    "no cores": (wrong(n_jobs=0), "n_jobs=0 must be a whole number"),
    "half a core": (wrong(n_jobs=1.5), "n_jobs=1.5 must be a whole number"),
    "singular equations": (wrong(clustering_ridge=[1e-300], noise_sd=1e-200), "raise clustering_r"),
    "no task": (fit(model=ERM(task="ranking")), "task='ranking' is not known"),
    "no steps": (fit(model=ERM(steps=0)), "steps=0: must be greater than 0"),
    "the loss of labels": (
        fit(y=NUMBERS, model=EIIL(task="regression", loss="logistic")), "loss='logistic' needs",
    ),
    "rows without an environment": (
        fit(model=IRM(), environments=[None, np.nan, *LABELS[2:]]), "are missing in 2 rows",
    ),
    "environments of another length": (fit(model=IRM(), environments=[0, 1]), "for 40 rows"),
}  # fmt: skip
SCIKIT_LEARN: dict[str, tuple[Callable[[], Any], str]] = {
    "an infinite target": (fit(y=with_label(NUMBERS, np.inf), model=REGRESSOR), "infinity"),
    "a target of text": (fit(model=REGRESSOR), "could not convert string to float"),
    "numbers for labels": (fit(y=NUMBERS), "Unknown label type: continuous"),
    "two targets": (fit(y=np.column_stack([NUMBERS] * 2), model=REGRESSOR), "1d array"),
    "no rows": (fit(X[:0], LABELS[:0]), "0 sample"),
    "a renamed column": (predict(X.rename(columns={"city": "town"})), "unseen at fit time"),
    "another order": (predict(X[["city", "age", "height"]]), "same order"),
}


@pytest.mark.parametrize("case", OURS)
def test_it_is_one_line(case: str) -> None:
    do, message = OURS[case]
    with pytest.raises(KerhrmError, match=message) as caught:
        do()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("case", SCIKIT_LEARN)
def test_it_is_scikit_learn_s(case: str) -> None:
    do, message = SCIKIT_LEARN[case]
    with pytest.raises(ValueError, match=message):
        do()


@pytest.mark.parametrize(
    "model",
    [ERM(learning_rate=1e20, random_state=0), IRM(penalty_weight=1e300, random_state=0)],
)
def test_a_diverged_training_is_warned_of(model: Any) -> None:
    given = {"environments": LABELS} if isinstance(model, IRM) else {}
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model.fit(X, LABELS, **given)
    with pytest.warns(ConvergenceWarning, match="40 predictions are not finite"):
        model.predict(X)


@pytest.mark.parametrize("scale", [1e-200, 1e-300, 1e15])
def test_units_do_not_matter(scale: float) -> None:
    model = ERM(task="regression", network=(8,), steps=20, random_state=0)
    expected = model.fit(X, NUMBERS).predict(X)
    np.testing.assert_allclose(model.fit(X, NUMBERS * scale).predict(X) / scale, expected, 1e-4)
    np.testing.assert_allclose(model.fit(X * scale, NUMBERS).predict(X * scale), expected, 1e-4)


def test_tensors_with_gradients_are_tables() -> None:
    x, y = (torch.tensor(a, requires_grad=True) for a in (X.to_numpy(), NUMBERS))
    model = ERM(task="regression", network=(8,), steps=20, random_state=0).fit(x, y)
    assert model.predict(x).shape == (N,)


@pytest.mark.parametrize(
    ("values", "kind"),
    [([False, True], "b"), ([0, 1], "i"), ([1, 2.0], "f"), (["no", "yes"], "O")],
)
def test_labels_among_objects_are_what_they_are(values: list[Any], kind: str) -> None:
    y = np.array(values, dtype=object)[(LABELS == "yes").astype(int)]
    model = ERM(network=(8,), steps=20, random_state=0).fit(X, y, validation=(X, y))
    assert model.classes_.tolist() == values
    if kind != "O":
        assert model.predict(X).dtype.kind == kind
    assert np.mean(model.predict(X) == y) > 0.5
