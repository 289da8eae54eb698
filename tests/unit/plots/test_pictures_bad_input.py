"""What a picture cannot be drawn from is told in one line; nothing is drawn then."""

import copy
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

import kerhrm
from kerhrm import ERM, KerHRMClassifier, plots
from kerhrm.errors import KerhrmError

CASES: dict[str, tuple[Any, str]] = {
    "a feature that is not there": (
        lambda m, x, y: plots.relation(m, x, y, "shadow"),
        "there is no feature 'shadow'; did you mean 'shade'?",
    ),
    "a number too large": (
        lambda m, x, y: plots.environments(m, x, y, features=[0, 2]),
        "there is no feature 2; the table has 2, and the first is 0",
    ),
    "no feature": (
        lambda m, x, y: plots.relation(m, x, y, 1.5),
        "1.5 is no feature; give a name or a number",
    ),
    "one feature for two": (
        lambda m, x, y: plots.environments(m, x, y, features="shade"),
        "features='shade' are not two; give two names or numbers",
    ),
    "no parts": (
        lambda m, x, y: plots.relation(m, x, y, 0, bins=0),
        "bins=0 is no number of parts; give 5, say",
    ),
    "a table with one column": (
        lambda m, x, y: plots.environments(y, x[["shade"]], y),
        "the table has 1 feature, and a picture needs 2; see kerhrm.plots.relation, which draws it "
        "with the target",
    ),
    "missing values": (
        lambda m, x, y: plots.environments(m, x.assign(shade=np.nan), y),
        "column 'shade' has missing values (NaN) in 300 rows, first in row 0; drop these rows, or "
        "fill them in (SimpleImputer)",
    ),
    "another length": (
        lambda m, x, y: plots.importance(m, x, y[:-1]),
        "300 rows of X but 299 of target 'answer'; give one target for each row",
    ),
    "an estimator without environments": (
        lambda m, x, y: plots.environments(LogisticRegression(), x, y),
        "LogisticRegression has no environments; give KerHRMClassifier or KerHRMRegressor, or the "
        "environments of the rows",
    ),
    "a pipeline": (
        lambda m, x, y: plots.environments(make_pipeline(m), x, y),
        "a Pipeline has no environments; give pipeline[-1], with pipeline[:-1].transform(X) for X",
    ),
    "too few environments": (
        lambda m, x, y: plots.environments([0, 1], x, y),
        "environments have shape (2,) for 300 rows; give one for each row",
    ),
    "rows without an environment": (
        lambda m, x, y: plots.environments([None, *y[1:]], x, y),
        "environments are missing in 1 rows; drop these rows, or name their environment",
    ),
    "labels that explain nothing": (
        lambda m, x, y: plots.importance(y, x, y),
        "labels of environments do not tell which features they come from; give a fitted KerHRM "
        "estimator, or name the features",
    ),
    "a spectrum of another method": (
        lambda m, x, y: plots.spectrum(ERM()),
        "ERM has no singular_values_; give a fitted KerHRMClassifier or KerHRMRegressor",
    ),
    "one fit": (
        lambda m, x, y: plots.agreement([m], x, y),
        "one fit has no one to agree with; give a list of several",
    ),
    "one restart": (
        lambda m, x, y: plots.agreement(m, x, y, n=1),
        "n=1 fits have no one to agree with; give 2 or more",
    ),
    "no fit": (
        lambda m, x, y: plots.group_errors([], x, y, y),
        "no estimators given; give one, a list, or a dict of them by name",
    ),
    "rows without a group": (
        lambda m, x, y: plots.group_errors(m, x, y, [None, *y[1:]]),
        "1 rows have no group; drop these rows, or name their group",
    ),
    "groups of other rows": (
        lambda m, x, y: plots.group_errors(m, x, y, y[1:]),
        "groups have shape (299,) for a target of shape (300,); give one label for each row",
    ),
    "rows without a target": (
        lambda m, x, y: plots.group_errors(m, x, y[1:], y[1:]),
        "300 rows of X but 299 of y; give the same rows",
    ),
    "classes and numbers": (
        lambda m, x, y: plots.group_errors([m, LinearRegression()], x, y, y),
        "classifiers and regressors have no error in common; draw them one after the other",
    ),
    "no axes": (
        lambda m, x, y: plots.spectrum(m, ax=np.array([1, 2])),
        "ax is no Axes but of type ndarray; give one of the axes of plt.subplots()",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_line_and_no_figure(name: str, labels: Any) -> None:
    draw, expected = CASES[name]
    with pytest.raises(KerhrmError) as caught:
        draw(*labels[:3])
    assert str(caught.value) == expected
    assert plt.get_fignums() == []


def test_pooled_erm_has_no_iterations(labels: Any) -> None:
    pooled = copy.copy(labels.model)
    pooled.history_ = []
    with pytest.raises(KerhrmError, match="no iteration: no environments were found, and pooled"):
        plots.iterations(pooled)


def test_an_estimator_that_is_not_fitted(labels: Any) -> None:
    with pytest.raises(ValueError, match="not fitted yet"):
        plots.spectrum(KerHRMClassifier())
    with pytest.raises(ValueError, match="not fitted yet"):
        plots.environments(KerHRMClassifier(), labels.x, pd.Series(labels.y))


def test_matplotlib_is_imported_when_something_is_drawn_and_missed_in_one_line() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
import kerhrm, kerhrm.plots.draw
print(sorted(set(sys.modules) & {"sklearn", "torch"}), [kerhrm.plots.spectrum.__name__])
try:
    kerhrm.plots.agreement([], [], [])
except kerhrm.plots.canvas.KerhrmError as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = told.stdout.splitlines()
    assert first == "[] ['spectrum']"
    assert second == ("pictures need matplotlib, which is not installed; pip install matplotlib")


def test_pictures_are_part_of_the_package() -> None:
    assert kerhrm.plots is plots
    assert set(plots.__all__) <= set(dir(plots))
    with pytest.raises(AttributeError, match=r"'kerhrm\.plots' has no attribute 'pie'"):
        plots.pie  # noqa: B018
