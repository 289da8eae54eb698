"""A small table, its targets and weights, and a fit to it."""

from enum import Enum
from typing import Any

import numpy as np
import pandas as pd

from kerhrm import (
    TangentRidge,
)

N = 60


RANDOM = np.random.default_rng(0)


X = RANDOM.normal(size=(N, 2))


WEIGHTS = RANDOM.random(N)


NOISE = 0.1 * RANDOM.normal(size=N)


Y = X[:, 0] + NOISE


IS_POSITIVE = X[:, 0] > 0
CLASS = IS_POSITIVE.astype(int)


FRAME = pd.DataFrame(X, columns=["a", "b"])


SERIES = pd.Series(Y)


DAYS = pd.date_range("2020-01-01", periods=N)


LABELS = np.where(CLASS, "b", "a")


HOLES = X < -1


class Answer(str, Enum):  # noqa: UP042  (whose str, other than StrEnum's, has its class)
    """Labels that are text."""

    YES = "yes"
    NO = "no"


def read_only(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.setflags(write=False)
    return values


def fit(x: Any, y: Any, task: Any = "regression", weights: Any = None) -> np.ndarray:
    """Outputs at the rows of the table."""
    model = TangentRidge(task=task, network=(4,), random_state=0)
    model.fit(x, y, sample_weight=weights)
    if task == "regression":
        return model.predict(x)
    return model.decision_function(x)
