"""Bad calls of public functions: a KerhrmError of one line, or scikit-learn's own
ValueError."""

import functools
import itertools
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from refusals import refusal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import kerhrm
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
    KerhrmError,
    KerHRMOptions,
    KerHRMRegressor,
    NetworkOptions,
    NTFMap,
    NystroemMap,
    Problem,
    TangentRidge,
    build,
    test_heterogeneity,
)

N = 60
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 2))
Y = np.where(X[:, 0] + RANDOM.normal(size=N) > 0, 1, -1)
FAST: dict[str, Any] = {"network": (4,), "steps": 2}
KERHRM: dict[str, Any] = {
    "k": 2,
    "n_init": 1,
    "n_iterations": 1,
    "network": (4,),
    "random_state": 0,
}
ESTIMATORS: dict[str, Any] = {
    "classifier": KerHRMClassifier(**KERHRM),
    "regressor": KerHRMRegressor(**KERHRM),
    "erm": ERM(**FAST),
    "dro": ChiSquareDRO(**FAST),
    "irm": IRM(**FAST),
    "group dro": GroupDRO(**FAST),
    "jtt": JTT(**FAST, identification_steps=2),
    "balancing": DataBalancing(**FAST, identification_steps=2),
    "afr": AFR(**FAST),
    "xrm": XRM(**FAST, twin_steps=2),
    "evals": EVaLS(**FAST, inference_steps=2),
    "ednil": EDNIL(**FAST, rounds=1, reference_steps=2, inference_steps=2),
    "eiil": EIIL(**FAST, reference_steps=2, inference_steps=2),
    "hrm": HRM(n_iterations=1, cluster_steps=2, cluster_rounds=1, gate_steps=2),
    "ridge": TangentRidge(network=(4,)),
}
TABLES: dict[str, tuple[Any, Any]] = {
    "none": (None, Y),
    "text": ("X", Y),
    "a number": (3.0, Y),
    "no target": (X, None),
    "one dimension": (X[:, 0], Y),
    "three dimensions": (X[:, :, None], Y),
    "no columns": (X[:, :0], Y),
    "no rows": (X[:0], Y[:0]),
    "one row": (X[:1], Y[:1]),
    "missing": (np.where(X > 1, np.nan, X), Y),
    "infinite": (np.where(X > 1, np.inf, X), Y),
    "enormous": (np.where(X > 1, 1e300, X), Y),
    "complex": (X + 1j, Y),
    "words": (np.full((N, 2), "a"), Y),
    "objects": (np.full((N, 2), {}, dtype=object), Y),
    "ragged": ([[1.0, 2.0], [1.0]] * (N // 2), Y),
    "another length": (X, Y[:-1]),
    "one class": (X, np.ones(N)),
    "a table as target": (X, X),
    "missing targets": (X, np.where(X[:, 0] > 1, np.nan, Y)),
    "twice the same name": (pd.DataFrame(X, columns=["a", "a"]), Y),
}
PARAMETERS: dict[str, list[Any]] = {
    "device": ["tpu", "mps", "meta", "cuda:99", torch.device("meta"), 3, "", None],
    "n_jobs": [0, 1.5, "two", True],
    "network": [
        (0,),
        (-3,),
        (10**6, 10**6),
        (True, 3),
        "nowhere",
        "os:nothing",
        lambda d: None,
        torch.nn.Linear(7, 1),
        functools.partial(torch.nn.Linear, out_features=1),
        None,
        [[1]],
        {"a": 1},
    ],
    "validation_fraction": [0, 1, -1, "a", None, np.nan],
    "random_state": ["seed", 1.5, True, [0], np.random.default_rng(0)],
    "steps": [0, -1, 1.5, "a", None],
    "learning_rate": [0, -1.0, "a", np.nan],
    "k": [0, -1, "a", [], [None], [3, 0], [True, 3], [[2]], 2.5, {"a": 1}, iter([2])],
    "alpha": [-1.0, "a", np.nan, np.inf, [1.0, np.nan], []],
    "gate_noise": [0, 1e-300],
    "n_environments": [0, 1.5, "a"],
    "clustering_ridge": [0, -1.0, "a"],
    "penalty": ["none", 3],
    "pretest": ["yes", 3, {"level": 3}, {"levle": 0.1}, KerHRMOptions()],
    "options": ["ridge", 3, ["ridge"], {"ridge": None}, {"stop_by": "luck"}, {"": 1}],
    "margin": [-1, 2, "a"],
    "task": ["ranking", None, 3],
    "n_landmarks": [0, -1, "a"],
    "share": [0, 1, -0.1, "a", np.nan],
    "gamma": [-1, "a", np.inf],
    "selected": [0, 0.6, [], [0.1, 2], "a", None],
    "l1": [0, -1, [], [np.nan], "a"],
    "eta": [-1, "a"],
    "twin_rate": [0, "a"],
    "rounds": [0, 1.5],
    "temperature": [0, np.inf],
    "balance_limit": [0.5, "a"],
    "balance": ["upsample", 3],
    "groups": ["rows", None],
}


def calls() -> dict[str, Callable[[], Any]]:
    """Name and bad call."""
    bad: dict[str, Callable[[], Any]] = {}
    for (name, model), (what, table) in itertools.product(
        ESTIMATORS.items(), TABLES.items()
    ):
        bad[f"{name}, {what}"] = lambda model=model, table=table: clone(model).fit(
            *table
        )
    for name, model in ESTIMATORS.items():
        names = {name.removeprefix("options__"): name for name in model.get_params()}
        for key in [names[key] for key in PARAMETERS if key in names]:
            for value in PARAMETERS[key.removeprefix("options__")]:
                bad[f"{name}, {key}={value!r:.20}"] = (
                    lambda model=model, key=key, value=value: (
                        clone(model).set_params(**{key: value}).fit(X, Y)
                    )
                )
        bad[f"{name}, not fitted"] = lambda model=model: clone(model).predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = KerHRMClassifier(**KERHRM, if_not_better="fit")
        fitted.fit(X, Y)
    for what in (
        "none",
        "text",
        "one dimension",
        "no columns",
        "missing",
        "infinite",
        "words",
    ):
        bad[f"predict, {what}"] = lambda what=what: fitted.predict(TABLES[what][0])
        bad[f"report, {what}"] = lambda what=what: fitted.report(TABLES[what][0], Y)
        bad[f"environments, {what}"] = lambda what=what: (
            fitted.predict_environment_proba(TABLES[what][0], Y)
        )
        if what != "one dimension":
            bad[f"auxiliary, {what}"] = lambda what=what: clone(fitted).fit(
                X, Y, auxiliary=TABLES[what][0] if what != "none" else [None] * N
            )
        bad[f"pre-test, {what}"] = lambda what=what: test_heterogeneity(
            TABLES[what][0], Y
        )
    options = NetworkOptions(widths=[4])
    network = build(options, seed=0, d=2)
    points = torch.from_numpy(X).float()
    bad |= {
        "build, d": lambda: build(NetworkOptions(), seed=0, d=0),
        "NTF, k": lambda: NTFMap.fit(network, points, 0),
        "NTF, much k": lambda: NTFMap.fit(network, points, N + 1),
        "NTF, columns": lambda: NTFMap.fit(network, points[:, :1], 2),
        "landmarks, k": lambda: NystroemMap.fit(network, points, 0),
        "options": lambda: KerHRMOptions.parse({"alpha": "much"}),
        "an unknown option": lambda: KerHRMOptions.parse({"alfa": 1.0}),
        "problem": lambda: Problem.from_features(
            NTFMap.fit(network, points, 2),
            points,
            points[:3, 0],
            points[:, 0],
            "regression",
            0,
        ),
        "scorer": lambda: kerhrm.worst_group_score(3),  # type: ignore[arg-type]
    }
    return bad


CALLS = calls()


@pytest.mark.parametrize("name", CALLS)
def test_it_is_one_line(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, NotFittedError, TypeError)) as caught:
            CALLS[name]()
    ours = isinstance(caught.value, KerhrmError)
    at = caught.traceback[-1].path
    assert ours or "sklearn" in str(at), f"{caught.value!r} from {at}"
    if ours:
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": [3, 0]}, "k.1=0: must be greater than 0; the default is None"),
        ({"k": 0}, "k=0: must be greater than 0; the default is None"),
        ({"k": "x"}, "unable to parse string as an integer; the default is None"),
        ({"k": []}, "k=[]: must have at least 1 item, not 0; the default is None"),
        ({"n_init": 0}, "n_init=0: must be greater than 0; the default is None"),
        ({"n_iterations": 0}, "must be greater than 0; the default is 3"),
        (
            {"alpha": np.inf},
            "alpha=inf: must be a finite number; the default is None",
        ),
        ({"options__margin": np.arange(99)}, "options['margin']=array([ 0, 1, 2"),
        ({"options": {"ridge": -1}}, "options['ridge']=-1: must be greater than or"),
        (
            {"options": {"cosine_weight": [1, -1]}},
            "options['cosine_weight'].1=-1: must",
        ),
        (
            {"options": {"rigde": 1}},
            "options['rigde']: no such option; did you mean 'r",
        ),
        (
            {"options": {"k": 5}},
            "options['k']: no such option; k is a parameter of its",
        ),
        ({"options": {1: 5}}, "options[1]: no such option; kerhrm.EstimatorOptions l"),
        ({"options": "ridge"}, "options must be a mapping of names to values; got 'ri"),
        ({"network": (0,)}, "must be greater than 0; give hidden widths, as network="),
        ({"network": "x"}, "network: module='x'"),
        ({"network": (10**6, 10**6)}, "has 1.0e+12 weights, which are too many; give"),
        (
            {"network": torch.nn.Linear(7, 1)},
            "module 'Linear' fails on points of shape",
        ),
    ],
)
def test_a_parameter_is_named_with_what_it_can_be(
    given: dict[str, Any], words: str
) -> None:
    model = clone(ESTIMATORS["regressor"])
    with refusal(re.escape(words)) as caught:
        model.set_params(**given).fit(X, X[:, 0])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_function_that_hides_behind_another_s_name_is_refused() -> None:
    """The one of that name would be taken in its place."""

    @functools.wraps(build)
    def other(d: int) -> torch.nn.Module:
        return torch.nn.Linear(d, 1)

    with refusal("a function that Python can import"):
        TangentRidge(network=other).fit(X, Y)


def test_too_little_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr("kerhrm.methods.ridge.fit_ridge", fails)
    with refusal("needs more memory than there is; give"):
        TangentRidge(network=(4,)).fit(X, Y)
