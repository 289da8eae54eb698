"""Fits that are drawn."""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.estimators import PriceWarning


class Fitted(NamedTuple):
    """An estimator, its rows, and whether a row's relation is flipped."""

    model: Any
    x: pd.DataFrame
    y: pd.Series
    hidden: np.ndarray


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    """Figures without a window, and none open before or after."""
    before = mpl.get_backend()
    plt.switch_backend("agg")
    plt.close("all")  # what another test has left open
    yield
    plt.close("all")
    plt.switch_backend(before)


@pytest.fixture(scope="session")
def labels() -> Fitted:
    """``shade`` is the opposite of the answer in a fifth of the rows."""
    random = np.random.default_rng(0)
    sign = random.choice([-1, 1], 300)
    hidden = random.random(300) < 0.2
    noise = 0.1 * random.normal(size=300)
    shade = np.where(hidden, -sign, sign) + noise
    shape = sign + random.normal(size=300)
    x = pd.DataFrame({"shape": shape, "shade": shade})
    answers = np.where(sign > 0, "yes", "no")
    y = pd.Series(answers, name="answer")
    model = KerHRMClassifier(
        k=5,
        network=(128,),
        random_state=0,
        if_not_better="fit",
    )
    with warnings.catch_warnings(action="ignore", category=PriceWarning):
        model.fit(x, y)
    return Fitted(model, x, y, hidden)


@pytest.fixture(scope="session")
def numbers() -> Fitted:
    """The slope of ``shade`` is 2, and -2 in a fifth of the rows; ``size`` does not
    matter."""
    random = np.random.default_rng(0)
    numbers_drawn = random.normal(size=(400, 3))
    x = pd.DataFrame(numbers_drawn, columns=["age", "size", "shade"])
    hidden = random.random(400) < 0.2
    slope = np.where(hidden, -2, 2)
    noise = 0.3 * random.normal(size=400)
    y = x["age"] + slope * x["shade"] + noise
    model = KerHRMRegressor(
        k=5,
        network=(256,),
        n_init=4,
        random_state=0,
        pretest=False,
        if_not_better="fit",
    )
    price = y.rename("price")
    model.fit(x, price)
    return Fitted(model, x, price, hidden)
