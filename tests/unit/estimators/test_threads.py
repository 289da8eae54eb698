"""Fits and predictions by several Python threads at once: the bits of one alone."""

import threading
from typing import Any

import numpy as np
import pytest
import threadpoolctl
import torch
from at_once import at_once
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone

import kerhrm
from kerhrm.estimators._base import cores

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

N_THREADS = 2, 8
QUICK: dict[str, Any] = {
    "network": (16,),
    "learning_rate": 0.03,
    "steps": 20,
    "random_state": 0,
}
INVARIANT: dict[str, Any] = {
    "k": 3,
    "n_iterations": 1,
    "n_init": 2,
    "random_state": 0,
    "if_not_better": "fit",
    "options": {"clustering_ridge": 0.01},
}
TRAINING = {
    "clustering_ridge": 0.01,
    "cosine_weight": 1.0,
    "steps": 20,
    "check_every": None,
}
MODULE = "factories:mlp"
ESTIMATORS = {
    "KerHRMRegressor": kerhrm.KerHRMRegressor(
        **INVARIANT, network=(32,), pretest=False
    ),
    "KerHRMRegressor, its test": kerhrm.KerHRMRegressor(**INVARIANT, network=(32,)),
    "KerHRMRegressor, two layers": kerhrm.KerHRMRegressor(
        **INVARIANT, network=(16, 8), pretest=False
    ),
    "KerHRMRegressor, a module": kerhrm.KerHRMRegressor(
        **INVARIANT, network=MODULE, pretest=False
    ),
    "KerHRMRegressor, auxiliary columns": kerhrm.KerHRMRegressor(
        k=3, random_state=0, if_not_better="fit", network=(32,), pretest=False
    ),
    "KerHRMClassifier": kerhrm.KerHRMClassifier(**INVARIANT, network=(32,)),
    "KerHRMClassifier, a network": kerhrm.KerHRMClassifier(
        **INVARIANT | {"options": TRAINING}, network=(32,), predictor="network"
    ),
    "TangentRidge": kerhrm.TangentRidge(
        task="regression", network=(32,), random_state=0
    ),
    "TangentRidge, a module": kerhrm.TangentRidge(network=MODULE, random_state=0),
    "ERM": kerhrm.ERM(**QUICK),
    "ERM, a module": kerhrm.ERM(**QUICK | {"network": MODULE}),
    "ChiSquareDRO": kerhrm.ChiSquareDRO(task="regression", **QUICK),
    "IRM": kerhrm.IRM(**QUICK, anneal=10),
    "GroupDRO": kerhrm.GroupDRO(task="regression", **QUICK),
    "JTT": kerhrm.JTT(**QUICK),
    "DataBalancing": kerhrm.DataBalancing(**QUICK),
    "AFR": kerhrm.AFR(**QUICK),
    "XRM": kerhrm.XRM(**QUICK, twin_steps=20),
    "EVaLS": kerhrm.EVaLS(**QUICK, inference_steps=20, selected=0.5, l1=(0.03, 0.1)),
    "EDNIL": kerhrm.EDNIL(**QUICK, rounds=2, reference_steps=20, inference_steps=10),
    "EIIL": kerhrm.EIIL(**QUICK, anneal=10, inference_steps=20),
    "HRM": kerhrm.HRM(
        n_iterations=1, cluster_steps=20, gate_steps=20, random_state=0, n_jobs=1
    ),
}
GIVEN_ENVIRONMENTS = kerhrm.IRM, kerhrm.GroupDRO


def table(task: str) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x = random.normal(size=(90, 3))
    is_flipped = random.random(90) < 0.2
    flip = np.where(is_flipped, -1, 1)
    noise = 0.3 * random.normal(size=90)
    signal = x[:, 0] + 2 * flip * x[:, 1]
    y = signal + noise
    if task == "classification":
        y = np.sign(y)
    return x, y


def fitted(name: str) -> Any:
    estimator = ESTIMATORS[name]
    x, y = table(estimator._task)
    given = {}
    if name.endswith("auxiliary columns"):
        given = {"auxiliary": x[:, :1]}
    if isinstance(estimator, GIVEN_ENVIRONMENTS):
        halves = np.arange(len(x)) % 2
        given = {"environments": halves}
    model = clone(estimator)
    return model.fit(x, y, **given)


def outputs(model: Any) -> np.ndarray:
    """Predictions at points, and whatever else is asked of points."""
    x, y = table(model._task)
    points = np.tile(x, (12, 1)) + 0.1
    answers = [model._outputs(points)]
    if hasattr(model, "predict_environment_proba"):
        given = {} if model._columns is None else {"auxiliary": x[:, :1]}
        proba = model.predict_environment_proba(x, y, **given)
        answers += [proba.ravel()]
    return np.concatenate(answers)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_threads_get_the_bits_of_one_alone(name: str) -> None:
    model = fitted(name)
    alone = outputs(model)
    for n_threads in N_THREADS:
        of_one_model = at_once(lambda: outputs(model), n_threads, 3)
        of_several = at_once(lambda: outputs(fitted(name)), n_threads)
        for result in of_one_model + of_several:
            assert_array_equal(result, alone)


def test_every_estimator_is_among_them() -> None:
    exported = set()
    for name in kerhrm.__all__:
        thing = getattr(kerhrm, name)
        if isinstance(thing, type) and issubclass(thing, BaseEstimator):
            exported.add(thing)
    assert len(exported) > 10
    assert exported == {type(estimator) for estimator in ESTIMATORS.values()}


def test_threads_describe_and_report_what_one_alone_does() -> None:
    model = fitted("KerHRMRegressor")
    x, y = table("regression")

    def told() -> str:
        return f"{model.describe()}\n{model.report(x, y)}"

    alone = told()
    for n_threads in N_THREADS:
        assert {*at_once(told, n_threads)} == {alone}


def threads_of_blas() -> list[int]:
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


def test_a_table_that_blas_would_share_among_threads() -> None:
    """Products of more rows, which OpenBLAS rounds by its number of threads."""
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 3))
    noise = 0.1 * random.normal(size=400)
    y = np.sin(2 * x[:, 0]) + noise

    def run() -> np.ndarray:
        model = kerhrm.TangentRidge(
            task="regression",
            network=(64,),
            random_state=0,
        )
        model.fit(x, y)
        return model.predict(x)

    alone = run()
    for result in at_once(run, 4, 2):
        assert_array_equal(result, alone)


def test_limits_end_with_their_last_user() -> None:
    """However threads overlap, the process has as many threads as before."""
    before = torch.get_num_threads(), threads_of_blas()
    inside = threading.Event()
    leave = threading.Event()

    def first() -> None:
        with cores(1):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=first)
    thread.start()
    inside.wait()
    with cores(1):
        leave.set()
        thread.join()
        assert set(threads_of_blas()) == {1}
    assert (torch.get_num_threads(), threads_of_blas()) == before
    started: list[int] = []

    def count() -> None:
        started.append(torch.get_num_threads())

    later = threading.Thread(target=count)
    later.start()
    later.join()
    assert started == [before[0]]
