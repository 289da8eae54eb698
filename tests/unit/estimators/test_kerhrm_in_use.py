"""KerHRM's estimators in pipelines, processes, files and on new rows."""

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
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kerhrm
from kerhrm import KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.estimators import DataWarning
from tests.unit.estimators.conftest import SMALL

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")


def test_it_is_at_home_in_scikit_learn(labels: Any) -> None:
    frame = pd.DataFrame(labels.x.copy(), columns=["stable", "spurious"])
    answers = np.where(labels.y > 0, "yes", "no")
    names = pd.Series(answers, name="answer")
    pipeline = make_pipeline(StandardScaler(), KerHRMClassifier(**SMALL))
    pipeline.set_output(transform="pandas").fit(frame, names)
    assert list(pipeline[-1].feature_names_in_) == ["stable", "spurious"]
    assert list(pipeline.classes_) == ["no", "yes"]
    # in another process, as scikit-learn's n_jobs does it, and from a file
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = pool.submit(pipeline.predict_proba, frame).result()
    assert_array_equal(elsewhere, pipeline.predict_proba(frame))
    file = io.BytesIO()
    joblib.dump(pipeline, file)
    file.seek(0)
    loaded = joblib.load(file)
    assert_array_equal(loaded.predict_proba(frame), elsewhere)
    with pytest.raises(NotFittedError):
        clone(pipeline[-1]).predict(frame)


def test_random_states_and_cores(labels: Any) -> None:
    state = np.random.RandomState(5)
    chosen = dict(SMALL, random_state=state, k=3)
    first = KerHRMClassifier(**chosen, n_jobs=1)
    first = first.fit(labels.x, labels.y)
    chosen["random_state"] = first.seed_
    again = KerHRMClassifier(**chosen, n_jobs=-1)
    again = again.fit(labels.x, labels.y)
    assert_allclose(first.theta_, again.theta_, rtol=1e-3, atol=1e-6)
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
    """At most 59 files, those of the functions that run."""
    table = request.getfixturevalue(case)
    root = str(Path(kerhrm.__file__).parent)
    kind = KerHRMClassifier if case == "labels" else KerHRMRegressor
    model = kind(**SMALL, predictor=predictor, options={"steps": 30})
    if predictor == "network":
        model.set_params(if_not_better="fit")
    files: set[str] = set()

    def called(frame: Any, event: str, _: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(root):
            files.add(file)

    sys.setprofile(called)
    try:
        model.fit(table.x, table.y)
    finally:
        sys.setprofile(None)
    expected = "erm" if case == "null" else predictor
    assert model.predictor_ == (expected)
    assert 10 < len(files) <= 59


def test_rows_outside_the_fit_s_are_counted(slopes: Any) -> None:
    X = pd.DataFrame(slopes.x, columns=["a", "b", "c"])
    model = TangentRidge(task="regression", network=(64,))
    model = model.fit(X, slopes.y)
    with warnings.catch_warnings(action="error"):
        model.predict(X)
    far = X.iloc[:10].copy()
    far.loc[3:4, "b"] = 50.0
    far.loc[4, "c"] = -50.0
    with pytest.warns(DataWarning, match=r"2 of 10 rows lie outside .*column 'b'"):
        model.predict(far)
