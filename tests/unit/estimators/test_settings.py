"""Whatever the caller has set in its process: the same bits, and left as it was."""

import contextlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
import torch
from joblib import cpu_count
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm import (
    AFR,
    EDNIL,
    EIIL,
    ERM,
    HRM,
    IRM,
    JTT,
    XRM,
    ChiSquareDRO,
    DataBalancing,
    EVaLS,
    GroupDRO,
    KerHRMClassifier,
    KerHRMRegressor,
    TangentRidge,
)
from kerhrm.estimators import _base
from kerhrm.estimators._base import cores
from kerhrm.threads import torch_threads

pytestmark = [
    pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning"),
    # few steps are enough here
    pytest.mark.filterwarnings("ignore:a constant does better"),
]

N = 100
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 2))
TIME = RANDOM.random(N)
noise = 0.1 * RANDOM.normal(size=N)
Y = X[:, 0] + noise
IS_POSITIVE = X[:, 0] > 0
CLASS = IS_POSITIVE.astype(int)
LATE = TIME > 0.5
FAST: dict[str, Any] = {
    "network": (4,),
    "steps": 3,
    "random_state": 0,
}
KERHRM: dict[str, Any] = {
    "k": 2,
    "n_init": 1,
    "n_iterations": 2,
    "network": (4,),
    "random_state": 0,
    "if_not_detected": "fit",
    "if_not_better": "fit",
}
MODULE = f"{__name__}:network"
#: estimators, and what they are fitted with besides the table
FITS: dict[str, tuple[Any, dict[str, Any]]] = {
    "KerHRM": (KerHRMRegressor(**KERHRM), {}),
    "its network": (
        KerHRMClassifier(
            **KERHRM, predictor="network", options={"steps": 4, "cosine_weight": 1.0}
        ),
        {},
    ),
    "auxiliary": (KerHRMClassifier(**KERHRM), {"auxiliary": TIME}),
    "module": (KerHRMRegressor(**KERHRM | {"network": MODULE}), {}),
    "ridge": (TangentRidge(task="regression", network=(4,), random_state=0), {}),
    "ERM": (ERM(**FAST), {}),
    "ERM of a module": (ERM(**FAST | {"network": MODULE}), {}),
    "DRO": (ChiSquareDRO(**FAST), {}),
    "IRM": (IRM(**FAST), {"environments": LATE}),
    "GroupDRO": (GroupDRO(**FAST), {"environments": LATE}),
    "EIIL": (EIIL(**FAST, reference_steps=2, inference_steps=3), {}),
    "JTT": (JTT(**FAST, identification_steps=2), {}),
    "balancing": (DataBalancing(**FAST, balance="subsample"), {}),
    "AFR": (AFR(**FAST), {}),
    "XRM": (XRM(**FAST, twin_steps=3), {}),
    "EVaLS": (EVaLS(**FAST, inference_steps=3), {}),
    "EDNIL": (EDNIL(**FAST, rounds=2, reference_steps=2, inference_steps=3), {}),
    "HRM": (
        HRM(
            n_iterations=1,
            cluster_steps=4,
            cluster_rounds=1,
            gate_steps=3,
            random_state=0,
        ),
        {},
    ),
}


def network(d: int) -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(d, 4),
        torch.nn.Tanh(),
        torch.nn.Linear(4, 1),
    )


def outputs(name: str) -> np.ndarray:
    """Everything that a fit and its methods compute."""
    model, given = FITS[name]
    y = CLASS if sklearn.base.is_classifier(model) else Y
    model = sklearn.base.clone(model)
    model.fit(X, y, **given)
    numbers = [model.seed_, model.score(X, y)]
    arrays = [model.predict(X), numbers]
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(X)
        arrays += [probability, model.decision_function(X)]
    if isinstance(model, KerHRMClassifier | KerHRMRegressor):
        report = model.report(X, y, LATE, **given)
        errors = report.errors
        proba = model.predict_environment_proba(X, y, **given)
        arrays += [errors.to_numpy(), proba, model.theta_]
    flat = []
    for array in arrays:
        flat.append(np.ravel(array).astype(float))
    return np.concatenate(flat)


@contextlib.contextmanager
def switched(switch: Callable[[Any], Any], value: Any, back: Any) -> Iterator[None]:
    switch(value)
    try:
        yield
    finally:
        switch(back)


SETTINGS: dict[str, Callable[[], Any]] = {
    "gradients off": lambda: switched(torch.set_grad_enabled, False, True),
    "inference mode": torch.inference_mode,
    "float64": lambda: switched(torch.set_default_dtype, torch.float64, torch.float32),
    "no numbers": lambda: switched(torch.set_default_device, "meta", None),
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "NumPy raises": lambda: np.errstate(all="raise"),
    "pandas from scikit-learn": lambda: sklearn.config_context(
        transform_output="pandas"
    ),
    "no check of infinity": lambda: sklearn.config_context(assume_finite=True),
}


def state() -> tuple[Any, ...]:
    """The process, as far as a fit could have changed it."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_autocast_enabled("cpu"),
        torch.get_num_threads(),
        torch.random.get_rng_state().numpy().tobytes(),
        pickle.dumps(np.random.get_state()),
        np.geterr(),
        sklearn.get_config(),
    )


@pytest.fixture(scope="module")
def expected() -> dict[str, np.ndarray]:
    return {name: outputs(name) for name in FITS}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_of_the_caller_changes_nothing(setting: str, expected: Any) -> None:
    for name in FITS:
        with SETTINGS[setting]():
            before = state()
            found = outputs(name)
            assert state() == before, name
        assert_array_equal(found, expected[name], err_msg=name)


@pytest.mark.parametrize("n_jobs", [1, -1, 100_000, 10**30, -(10**30), np.int64(1)])
def test_no_more_threads_than_cores(n_jobs: int) -> None:
    before = torch.get_num_threads()
    with cores(n_jobs):
        lowest = -(10**30)
        is_single = n_jobs in (1, lowest)
        n_cores = 1 if is_single else cpu_count()
        assert torch.get_num_threads() == n_cores
    assert torch.get_num_threads() == before


class Watched(torch.nn.Module):
    """A linear model that notes how many threads PyTorch has when it is evaluated."""

    def __init__(self, seen: set[int]) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 1)
        self.seen = seen

    def __deepcopy__(self, memo: dict[int, Any]) -> "Watched":
        copied = Watched(self.seen)
        state = self.linear.state_dict()
        copied.linear.load_state_dict(state)
        return copied

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        number = torch.get_num_threads()
        self.seen.add(number)
        return self.linear(x)


@pytest.mark.parametrize(
    ("n_rows", "n_jobs", "expected"),
    [(90, None, {1}), (90, 2, {2}), (2001, None, {3})],
    ids=["few rows", "few rows, but a number is given", "many rows"],
)
@pytest.mark.parametrize("kind", [TangentRidge, KerHRMRegressor])
def test_a_small_table_takes_one_thread(
    monkeypatch: pytest.MonkeyPatch,
    kind: Any,
    n_rows: int,
    n_jobs: int | None,
    expected: set[int],
) -> None:
    monkeypatch.setattr(_base, "cpu_count", lambda: 4)
    monkeypatch.setattr(_base, "effective_n_jobs", int)
    random = np.random.default_rng(0)
    x = random.normal(size=(n_rows, 3))
    noise = random.normal(size=n_rows)
    y = x[:, 0] + noise
    seen: set[int] = set()
    module = Watched(seen)
    chosen = {"network": module, "n_jobs": n_jobs, "random_state": 0}
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        if kind is TangentRidge:
            model = kind(task="regression", **chosen)
        else:
            model = kind(pretest=False, n_iterations=1, n_init=1, **chosen)
        model.fit(x, y).predict(x)
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == expected


def test_threads_within_threads() -> None:
    """The end of an inner block leaves the number of the outer one."""
    before = torch.get_num_threads()
    with cores(1):
        with torch_threads(2):
            assert torch.get_num_threads() == 2
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True, [1]])
def test_a_number_of_cores_that_is_none_is_refused(n_jobs: Any) -> None:
    model = TangentRidge(n_jobs=n_jobs)
    with refusal("n_jobs must be a whole number other than 0"):
        model.fit(X, CLASS)


@pytest.mark.parametrize("name", ["KerHRM", "ridge", "ERM"])
def test_a_seed_that_was_drawn_is_the_seed(name: str) -> None:
    model, _ = FITS[name]
    y = CLASS if name == "ERM" else Y
    state = np.random.RandomState(3)
    drawn = sklearn.base.clone(model)
    drawn.set_params(random_state=state)
    drawn.fit(X, y)
    again = sklearn.base.clone(model)
    again.set_params(random_state=drawn.seed_)
    again.fit(X, y)
    outputs = again.predict(X)
    assert_array_equal(drawn.predict(X), outputs)

    seed_of_numpy = np.int64(drawn.seed_)
    by_numpy = sklearn.base.clone(model)
    by_numpy.set_params(random_state=seed_of_numpy)
    by_numpy.fit(X, y)
    assert_array_equal(by_numpy.predict(X), outputs)
    assert type(by_numpy.seed_) is int


def test_erm_has_the_seed_of_the_fit() -> None:
    """Where nothing is detected the fallback must not draw another one."""
    model = KerHRMRegressor(k=2, n_init=1, network=(4,))
    state = np.random.RandomState(3)
    drawn = model.set_params(random_state=state)
    drawn.fit(X, Y)
    assert drawn.predictor_ == "erm"
    outputs = drawn.predict(X)
    theta = drawn.theta_
    seed = drawn.seed_
    again = model.set_params(random_state=seed)
    again.fit(X, Y)
    assert_array_equal(again.predict(X), outputs)
    assert_array_equal(again.theta_, theta)


@pytest.mark.parametrize(
    "seed", ["0", 1.5, True, np.random.default_rng(0), [0], float("nan")]
)
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    model = TangentRidge(random_state=seed)
    message = r"random_state must be .*; use random_state=0"
    with refusal(message):
        model.fit(X, CLASS)


def test_parameters_that_are_set_after_a_fit_change_no_environments() -> None:
    model = KerHRMClassifier(**KERHRM)
    model.fit(X, CLASS)
    expected = model.predict_environment_proba(X, CLASS)
    changed = {"clustering_target": "label", "first_kernel": "inputs"}
    model.set_params(options=changed, k=7)
    found = model.predict_environment_proba(X, CLASS)
    assert_array_equal(found, expected)


def test_nor_the_number_that_a_report_names(slopes: Any) -> None:
    model = KerHRMRegressor(k=5, network=(64,), random_state=0, if_not_better="fit")
    model.fit(slopes.x, slopes.y)
    before = model.report(slopes.x, slopes.y).facts["environments"]
    model.set_params(n_environments=5)
    assert model.report(slopes.x, slopes.y).facts["environments"] == before
