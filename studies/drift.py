"""An auxiliary column under drift: false alarms, errors and power of its test.

Table ``drift``: parts ``drift`` (five shapes of one function whose first input moves
with Z, two tasks, 100 draws each) and ``change`` (the function changes with Z, too);
how often environments were detected, and the mean and largest error of KerHRM over
ERM's (``TangentRidge``) on rows of the same law.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial as part
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from kerhrm import KerHRMClassifier, KerHRMRegressor, TangentRidge
from kerhrm.options import Task
from kerhrm.randomness import stream
from studies.common import Unit

ROWS, REGIONS = 500, 5
SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda x: 1.5 * x[:, 0] + x[:, 1],
    "square": lambda x: x[:, 0] ** 2 + x[:, 1],
    "wave": lambda x: 1.5 * np.sin(2 * x[:, 0]) + x[:, 1],
    "step": lambda x: 2.0 * (x[:, 0] > 0.5) + x[:, 1],
    "growing noise": lambda x: 1.5 * x[:, 0],
}


def drifting(
    random: np.random.Generator, n: int, shape: str, task: str, slope: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four inputs, a target, and a time whose five fifths move the first input.

    In the last two of them the slope of the second input is ``slope`` and not 1.
    """
    time = random.random(n)
    region = (REGIONS * time).astype(int)
    x = random.standard_normal((n, 4))
    x[:, 0] += np.linspace(-1.5, 1.5, REGIONS)[region]
    size = 0.3 + np.abs(x[:, 0]) / 2 if shape == "growing noise" else np.full(n, 0.7)
    y = SHAPES[shape](x) + size * random.standard_normal(n)
    y += np.where(region >= REGIONS - 2, slope - 1, 0.0) * x[:, 1]
    if task == "labels":
        y = np.where(y > {"square": 1.5, "step": 0.8}.get(shape, 0.0), 1.0, -1.0)
    return x, y, time


def units() -> Iterator[Unit]:
    """Everything that is drawn."""
    for shape in SHAPES:
        for task in ("numbers", "labels"):
            for seed in range(100):
                key: dict[str, Any] = {"part": "drift", "shape": shape, "task": task}
                key |= {"slope": 1.0}
                yield (
                    "drift_draws",
                    key | {"seed": seed},
                    part(_drawn, **key, seed=seed),
                )
    for slope in (0.8, 0.6, 0.3):
        for shape in ("linear", "square"):
            for task in ("numbers", "labels"):
                for seed in range(20):
                    key = {"part": "change", "shape": shape, "task": task}
                    key |= {"slope": slope, "seed": seed}
                    yield "drift_draws", key, part(_drawn, **key)


def _drawn(part: str, shape: str, task: str, slope: float, seed: int) -> pd.DataFrame:
    random = stream(seed, "drift", "held out again", part, shape, task, str(slope))
    x, y, time = drifting(random, ROWS, shape, task, slope)
    x_test, y_test, _ = drifting(random, 2000, shape, task, slope)
    labels = task == "labels"
    kind = KerHRMClassifier if labels else KerHRMRegressor
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        model = kind(random_state=seed).fit(x, y, auxiliary=time)
        ours = theirs = 1.0  # where KerHRM is ERM
        if model.predictor_ != "erm":
            kind_of: Task = "classification" if labels else "regression"
            erm = TangentRidge(task=kind_of, random_state=seed).fit(x, y)
            error = (lambda f: f != y_test) if labels else (lambda f: (f - y_test) ** 2)
            ours, theirs = (
                float(np.mean(error(m.predict(x_test)))) for m in (model, erm)
            )
    test: Any = model.heterogeneity_
    row = {
        "detected": test.detected,
        "p_value": round(test.p_value, 5),
        "predicts": model.predictor_ != "erm",
        "ratio": round(ours / theirs, 5),
    }
    return pd.DataFrame([row])


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """How often environments were detected, with Clopper and Pearson's interval."""
    rows = []
    draws = drawn["drift_draws"]
    of_drift = draws[draws["part"] == "drift"]
    groups = [
        *draws.groupby(["part", "shape", "task", "slope"], sort=False),
        (("drift", "all", "both", 1.0), of_drift),
    ]
    for (kind, shape, task, slope), group in groups:
        found, size = int(group["detected"].sum()), len(group)
        interval = binomtest(found, size).proportion_ci()
        rows.append(
            {"part": kind, "shape": shape, "task": task, "slope": slope}
            | {"draws": size, "detected": found}
            | {"low": interval.low, "high": interval.high}
            | {"ratio": group["ratio"].mean(), "largest": group["ratio"].max()}
        )
    yield "drift", pd.DataFrame(rows).round(4)
