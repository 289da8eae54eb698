"""What a picture cannot be drawn from is told in one line; nothing is drawn then."""

import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from refusals import refusal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from kerhrm import KerHRMClassifier, plots

CASES: dict[str, tuple[Any, str]] = {
    "a feature that is not there": (
        lambda m, x, y: plots.relation(m, x, y, "shadow"),
        "'shadow' does not exist; did you",
    ),
    "a table with one column": (
        lambda m, x, y: plots.environments(y, x[["shade"]], y),
        "the table has 1 feature",
    ),
    "missing values": (
        lambda m, x, y: plots.environments(m, x.assign(shade=np.nan), y),
        "column 'shade' has",
    ),
    "an estimator without environments": (
        lambda m, x, y: plots.environments(LogisticRegression(), x, y),
        "has no environments",
    ),
    "rows without an environment": (
        lambda m, x, y: plots.environments([None, *y[1:]], x, y),
        "are missing in 1 row",
    ),
    "labels that explain nothing": (
        lambda m, x, y: plots.importance(y, x, y),
        "do not say which features they come from",
    ),
    "one fit": (lambda m, x, y: plots.agreement([m], x, y), "two fits or more; got 1"),
    "rows without a group": (
        lambda m, x, y: plots.group_errors(m, x, y, [None, *y[1:]]),
        "are missing in 1 row",
    ),
    "groups that look alike": (
        lambda m, x, y: plots.group_errors(m, x, y, [1, "1"] * (len(y) // 2)),
        "1 and '1' have the same name",
    ),
    "models that look alike": (
        lambda m, x, y: plots.group_errors({1: m, "1": m}, x, y, y),
        "two models have the same name, 1",
    ),
    "what cannot predict": (
        lambda m, x, y: plots.group_errors([m, 5], x, y, y),
        "is of type int: it cannot predict",
    ),
    "labels of another kind": (
        lambda m, x, y: plots.group_errors(m, x, y == "yes", y),
        "predicts labels of another kind: .*; give y as in the fit",
    ),
    "missing labels": (
        lambda m, x, y: plots.group_errors(m, x, y.mask(y == "yes"), y),
        "the target y is missing",
    ),
    "a mask": (
        lambda m, x, y: plots.environments(m, x, np.ma.array(y, mask=y == "no")),
        "the target y is missing",
    ),
    "no bins": (
        lambda m, x, y: plots.relation(m, x, y, bins=0),
        "bins must be a whole number of 1 or more; got 0; use bins=5",
    ),
    "no columns": (
        lambda m, x, y: plots.importance(m, x, y, most=0),
        "most must be a whole number of 1 or more; got 0",
    ),
    "a seed that is none": (
        lambda m, x, y: plots.importance(m, x, y, random_state=-1),
        "random_state must be a whole number of 0 or more; got -1",
    ),
    "a single fit of several": (
        lambda m, x, y: plots.agreement(m, x, y, n=1),
        "n must be a whole number of 2 or more; got 1",
    ),
    "fits that no seed tells apart": (
        lambda m, x, y: plots.agreement(make_pipeline(m), x, y),
        "Pipeline has no random_state, .*; give KerHRM, of a pipeline its last step",
    ),
    "no axes": (
        lambda m, x, y: plots.spectrum(m, ax=np.array([1])),
        "ax is of type ndarray",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_line_and_no_figure(name: str, labels: Any) -> None:
    draw, expected = CASES[name]
    with refusal(expected) as caught:
        draw(*labels[:3])
    assert "\n" not in str(caught.value)
    assert plt.get_fignums() == []


def test_pooled_erm_has_no_iterations(labels: Any) -> None:
    pooled = copy.copy(labels.model)
    pooled.history_ = []
    with refusal("no iteration: no environments were found"):
        plots.iterations(pooled)


def test_an_estimator_that_is_not_fitted(labels: Any) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        plots.spectrum(KerHRMClassifier())
    target = pd.Series(labels.y)
    with pytest.raises(ValueError, match="not fitted yet"):
        plots.environments(KerHRMClassifier(), labels.x, target)


def test_matplotlib_is_imported_when_something_is_drawn_and_missed_in_one_line() -> (
    None
):
    code = """
import sys
sys.modules["matplotlib"] = None
import kerhrm.plots
print(sorted(set(sys.modules) & {"sklearn", "torch"}), "spectrum" in dir(kerhrm.plots))
from kerhrm.plots.axes import new_axes
try:
    new_axes(None)
except ValueError as error:
    print(error)
"""
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    first, second = output.stdout.splitlines()
    assert first == "[] True"
    assert second == "matplotlib is not installed; pip install 'kerhrm[plots]'"
