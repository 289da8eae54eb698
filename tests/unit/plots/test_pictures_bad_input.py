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

from kerhrm import EIIL, KerHRMClassifier, plots
from kerhrm.plots.drawing import points
from kerhrm.plots.rows import _parts
from kerhrm.tables.labels import in_category_order

CASES: dict[str, tuple[Any, str]] = {
    "a feature that is not there": (
        lambda m, x, y: plots.relation(m, x, y, "shadow"),
        "'shadow' does not exist; did you",
    ),
    "a feature by a number that is not there": (
        lambda m, x, y: plots.relation(m, x, y, 2),
        "feature 2 does not exist; known are: shape, shade$",
    ),
    "a truth value as a feature": (
        lambda m, x, y: plots.relation(m, x, y, True),
        "feature True does not exist; known are: shape, shade$",
    ),
    "several features": (
        lambda m, x, y: plots.relation(m, x, y, slice(0, 1)),
        r"feature slice\(0, 1, None\) does not exist; known are: shape, shade$",
    ),
    "truth values as features": (
        lambda m, x, y: plots.environments(m, x, y, features=[False, True]),
        "feature False does not exist",
    ),
    "a number in place of two features": (
        lambda m, x, y: plots.environments(m, x, y, features=1),
        "features must be two; got 1; give two names or numbers$",
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


def test_a_feature_is_a_name_or_a_number_from_either_end(labels: Any) -> None:
    shown = []
    for feature in ("shade", 1, np.int64(1), -1):
        ax = plots.relation(labels.model, labels.x, labels.y, feature)
        shown.append(ax.get_xlabel())
    assert shown == ["shade"] * 4
    table = labels.x.set_axis(["0", "True"], axis=1)
    ax = plots.relation(labels.hidden, table, labels.y, True)
    assert ax.get_xlabel() == "True"


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


def test_an_environment_without_rows_has_no_line() -> None:
    """As where later rows are drawn, whose auxiliary values are of one environment."""
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    y = x[:, 0]
    alone = np.zeros(60, dtype=int)
    ax = plots.relation(np.append(alone[1:], 1), x, y, 1)
    assert len(ax.lines) == 2
    memberships = np.column_stack([np.ones(60), np.full(60, 1e-144)])
    _, figure_axes = plt.subplots()
    points(figure_axes, x[:, 1], y, memberships, ["a", "b"], lines=True)
    assert len(figure_axes.lines) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_of_another_kind_than_the_fit_s_are_refused() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 2))
    labels = np.where(x[:, 0] > 0, "yes", "no")
    model = EIIL(network=(), random_state=0, steps=20).fit(x, labels)
    with refusal("label True was not among those of the fit; give y in its labels"):
        plots.relation(model, x, x[:, 0] > 0, 0)


def test_a_value_that_many_rows_have_is_a_part_of_its_own() -> None:
    """And the others are parts of nearly equal sizes."""
    random = np.random.default_rng(0)
    amounts = random.gamma(2, size=400)
    column = np.where(random.random(400) < 0.7, 0.0, amounts)
    parts = _parts(column, 5)
    of_zero = np.unique(parts[column == 0])
    assert len(of_zero) == 1
    others, sizes = np.unique(parts[column > 0], return_counts=True)
    assert of_zero[0] not in others
    assert len(others) == 4
    assert np.ptp(sizes) <= 1


def test_groups_of_several_kinds_keep_the_order_of_their_categories() -> None:
    mixed = pd.Categorical(["a", 1.0] * 4, categories=["a", 1.0])
    assert in_category_order(mixed, ["1", "a"]) == ["a", "1"]
    odd = pd.Categorical([True, 2.0] * 4, categories=[True, 2.0])
    assert sorted(in_category_order(odd, ["2", "yes"])) == ["2", "yes"]
