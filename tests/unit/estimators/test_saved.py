"""A fitted estimator that is saved, copied or sent gives the same bits."""

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.base import clone

from kerhrm import (
    ERM,
    IRM,
    EstimatorOptions,
    KerHRMClassifier,
    KerHRMRegressor,
    TangentRidge,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning"),
    # few steps are enough here
    pytest.mark.filterwarnings("ignore:a constant does better"),
]

N = 100
RANDOM = np.random.default_rng(0)
NUMBERS = RANDOM.normal(size=(N, 2))
X = pd.DataFrame(NUMBERS, columns=["a", "b"])
TIME = RANDOM.random(N)
PLACE = ["x", "y"] * (N // 2)
Z = pd.DataFrame({"time": TIME, "place": PLACE})
Y = X["a"]
HIGH_OR_LOW = np.where(Y > 0, "high", "low")
LABELS = pd.Series(HIGH_OR_LOW)
KERHRM: dict[str, Any] = {
    "k": 2,
    "n_init": 1,
    "n_iterations": 1,
    "network": (4,),
    "random_state": 0,
    "if_not_detected": "fit",
    "if_not_better": "fit",
}


def network(d: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(d, 4),
        torch.nn.Tanh(),
        torch.nn.Linear(4, 1),
    )


SMALL: dict[str, Any] = {"network": (4,), "random_state": 0}
FITS: dict[str, tuple[Any, dict[str, Any]]] = {
    "labels": (KerHRMClassifier(**KERHRM), {}),
    "auxiliary": (KerHRMClassifier(**KERHRM), {"auxiliary": Z}),
    "numbers": (KerHRMRegressor(**KERHRM), {}),
    "module": (KerHRMRegressor(**KERHRM | {"network": network}), {}),
    "network": (
        KerHRMRegressor(**KERHRM, predictor="network", options={"steps": 3}),
        {},
    ),
    "options": (KerHRMRegressor(**KERHRM, options=EstimatorOptions(ridge=0.1)), {}),
    "ERM instead": (KerHRMRegressor(k=2, **SMALL), {}),
    "ridge": (TangentRidge(**SMALL), {}),
    "ERM of a module": (ERM(**SMALL | {"network": network}, steps=2), {}),
    "IRM": (IRM(**SMALL, steps=2), {"environments": Z["place"]}),
}


def by_joblib(model: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def by_skops(model: Any) -> Any:
    """As the documentation says."""
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    return skops.loads(data, trusted=types)


WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "joblib": by_joblib,
    "skops": by_skops,
}


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    fitted = {}
    for name, (model, given) in FITS.items():
        copy_of_model = clone(model)
        y = target(model)
        fitted[name] = copy_of_model.fit(X, y, **given)
    return fitted


def target(model: Any) -> pd.Series:
    return Y if isinstance(model, KerHRMRegressor) else LABELS


def outputs(model: Any, name: str) -> list[Any]:
    arrays = [model.predict(X)]
    if isinstance(model, KerHRMClassifier | KerHRMRegressor):
        _, given = FITS[name]
        y = target(model)
        memberships = model.predict_environment_proba(X, y, **given)
        place = Z["place"]
        report = model.report(X, y, place, **given)
        text = str(model.report_) + str(model.history_)
        numbers = report.errors.to_numpy()
        arrays += [memberships, numbers, np.array(text)]
    return arrays


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FITS)
def test_it_comes_back_with_the_same_bits(name: str, way: str, fits: Any) -> None:
    fitted = fits[name]
    model = WAYS[way](fitted)
    names = vars(fitted).keys()
    assert vars(model).keys() == names
    expected_outputs = outputs(fitted, name)
    found_outputs = outputs(model, name)
    pairs = zip(found_outputs, expected_outputs, strict=True)
    for found, expected in pairs:
        assert_array_equal(found, expected)
    _, given = FITS[name]
    refitted = clone(model)
    y = target(model)
    again = refitted.fit(X, y, **given)
    expected = fitted.predict(X)
    assert_array_equal(again.predict(X), expected)


@pytest.mark.parametrize("name", FITS)
def test_its_state_holds_no_tensor(name: str, fits: Any) -> None:
    """skops builds none, and one of a GPU is of no use without it."""
    assert b"torch._utils" not in pickle.dumps(fits[name])


@pytest.mark.parametrize("way", WAYS)
def test_parameters_come_back_before_a_fit(way: str) -> None:
    for model, _ in FITS.values():
        again = WAYS[way](model)
        expected = str(model.get_params())
        assert str(again.get_params()) == expected


@pytest.mark.filterwarnings("error")
def test_a_file_that_is_mapped_to_memory(fits: Any, tmp_path: Path) -> None:
    fitted = fits["numbers"]
    path = tmp_path / "model"
    joblib.dump(fitted, path)
    model = joblib.load(path, mmap_mode="r")
    expected = fitted.predict(X)
    assert_array_equal(model.predict(X), expected)
