"""Tables, targets and weights as they are given: the same rows give the same bits, and
what is unusual about them is told."""

import decimal
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kerhrm import (
    KerHRMClassifier,
    KerHRMRegressor,
    TangentRidge,
)
from kerhrm.estimators import DataWarning
from kerhrm.tables.unusual import telling_auxiliary
from tests.unit.tables.given_table import (
    CLASS,
    DAYS,
    FRAME,
    LABELS,
    RANDOM,
    SERIES,
    WEIGHTS,
    Answer,
    N,
    X,
    Y,
    fit,
    read_only,
)

SAME_TABLE: dict[str, Any] = {
    "a frame": FRAME,
    "sparse columns": FRAME.astype(pd.SparseDtype(float, np.nan)),
    "sparse columns with zeros": FRAME.astype(pd.SparseDtype(float, 0.0)),
    "another index": FRAME.set_axis(range(100, 160)),
    "one index for all rows": FRAME.set_axis([0] * N),
    "columns in memory": np.asfortranarray(X),
    "read-only": read_only(X),
    "a memory view": memoryview(X),
    "lists": X.tolist(),
    "objects": X.astype(object),
    "numbers as text": X.astype(str),
    "long doubles": X.astype(np.longdouble),
    "a tensor": torch.from_numpy(X),
    "a tensor with a gradient": torch.from_numpy(X).requires_grad_(),
    "nullable numbers": FRAME.astype("Float64"),
    "categories": FRAME.astype("category"),
    "decimals": [[decimal.Decimal(value) for value in row] for row in X.tolist()],
    "a mask over nothing": np.ma.array(X, mask=False),
    "turned twice": X[::-1].copy()[::-1],
    "other bytes": X.astype(">f8"),
}


@pytest.mark.parametrize("name", SAME_TABLE)
def test_the_same_table_gives_the_same_bits(name: str) -> None:
    outputs = fit(SAME_TABLE[name], Y)
    assert_array_equal(outputs, fit(X, Y))


SAME_TARGET: dict[str, Any] = {
    "a series": SERIES,
    "another index": SERIES.set_axis(range(100, 160)),
    "a list": Y.tolist(),
    "objects": Y.astype(object),
    "numbers as text": Y.astype(str),
    "nullable numbers": SERIES.astype("Float64"),
    "a tensor": torch.from_numpy(Y),
    "decimals": [decimal.Decimal(value) for value in Y.tolist()],
    "a mask over nothing": np.ma.array(Y),
    "read-only": read_only(Y),
}


SAME_LABELS: dict[str, Any] = {
    "truth values": CLASS > 0,
    "truth values as objects": (CLASS > 0).astype(object),
    "a list": CLASS.tolist(),
    "text": LABELS,
    "a list of text": LABELS.tolist(),
    "categories": pd.Series(LABELS).astype("category"),
    "pandas text": pd.Series(LABELS, dtype="string"),
    "nullable numbers": pd.Series(CLASS).astype("Int64"),
    "nullable truth values": pd.Series(CLASS > 0).astype("boolean"),
    "whole numbers and others": [1.0 if value else 0 for value in CLASS],
    "dates": pd.Series(np.where(CLASS, DAYS[1], DAYS[0])),
    "text of an Enum": [Answer.YES if value else Answer.NO for value in CLASS],
}


@pytest.mark.parametrize("turned", [False, True])
def test_an_index_of_several_levels_is_no_order_of_other_labels(turned: bool) -> None:
    levels = pd.MultiIndex.from_product([range(6), range(10)])
    with_levels = FRAME.set_axis(levels)
    target = SERIES
    if turned:
        with_levels = FRAME
        target = SERIES.set_axis(levels)
    assert_array_equal(fit(with_levels, target), fit(X, Y))


@pytest.mark.parametrize("name", SAME_TARGET)
def test_the_same_target_gives_the_same_bits(name: str) -> None:
    outputs = fit(FRAME, SAME_TARGET[name])
    assert_array_equal(outputs, fit(X, Y))


@pytest.mark.parametrize("name", SAME_LABELS)
def test_the_same_labels_give_the_same_bits(name: str) -> None:
    outputs = fit(FRAME, SAME_LABELS[name], "classification")
    expected = fit(X, CLASS, "classification")
    assert_array_equal(outputs, expected)


def test_labels_come_back_as_they_were() -> None:
    classes = pd.Series(CLASS).astype("Int64")
    model = TangentRidge(network=(4,))
    model.fit(X, classes)
    predicted = model.predict(X).tolist()
    kinds = {type(label) for label in predicted}
    assert kinds == {int}


def test_the_same_weights_give_the_same_bits() -> None:
    expected = fit(X, Y, weights=WEIGHTS)
    in_pandas = pd.Series(WEIGHTS)
    tensor = torch.from_numpy(WEIGHTS)
    column = in_pandas.to_frame()
    for weights in (WEIGHTS.tolist(), in_pandas, tensor, column):
        outputs = fit(FRAME, Y, weights=weights)
        assert_array_equal(outputs, expected)


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.PriceWarning")
@pytest.mark.parametrize("estimator", [TangentRidge, KerHRMClassifier])
def test_a_column_that_is_constant_in_the_fit_does_not_predict(estimator: Any) -> None:
    """As a year of the training rows, or an indicator of what none of them is."""
    options: dict[str, Any] = {"network": (8,), "random_state": 0}
    if estimator is TangentRidge:
        options["task"] = "classification"
    else:
        options["if_not_better"] = "fit"
    constant = FRAME.assign(year=2023, none=0)
    other = FRAME.assign(year=2030, none=1)
    model = estimator(**options).fit(constant, LABELS)
    expected = model.decision_function(constant)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_array_equal(model.decision_function(other), expected)


@pytest.mark.parametrize("value", [2025, 2027])
def test_a_column_that_is_nearly_constant_has_limits(value: int) -> None:
    is_first = np.arange(N) < 2
    year = np.where(is_first, 2022, 2023)
    model = TangentRidge(task="regression", network=(4,), random_state=0)
    table = FRAME.assign(year=year)
    model.fit(table, Y)
    new = FRAME.assign(year=value)
    with pytest.warns(DataWarning, match=r"column 'year': 2022 to 2023 there"):
        model.predict(new)


def test_rows_that_differ_in_the_target_alone_are_told() -> None:
    """Two measurements of each of many units."""
    twice = np.repeat(X, 2, axis=0)
    target_twice = np.repeat(Y, 2)
    random_numbers = RANDOM.normal(size=2 * N)
    noise = 0.01 * random_numbers
    model = TangentRidge(task="regression", network=(), random_state=0)
    with pytest.warns(DataWarning, match="120 of 120 different rows have the inputs"):
        model.fit(twice, target_twice + noise)
    pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    categories = np.repeat(pair, N, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(twice, target_twice)  # copies are one row
        targets = np.r_[Y, Y]
        model.fit(categories, targets)


@pytest.mark.filterwarnings("ignore:.*predicting as ERM")
def test_rows_that_differ_in_what_stands_beside_are_no_repeated_inputs() -> None:
    """Equal inputs and targets at two times."""
    model = KerHRMRegressor(network=(4,), k=2, n_init=2, random_state=0)
    twice = np.repeat(X, 2, axis=0)
    target_twice = np.repeat(Y, 2)
    time = np.tile([0.0, 1.0], N)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        model.fit(twice, target_twice, auxiliary=time)


def test_validation_rows_that_were_not_scaled_are_told() -> None:
    model = TangentRidge(task="regression", network=())
    pipeline = make_pipeline(StandardScaler(), model)
    far = 100 + 10 * X
    held_out = (far, Y)
    with pytest.warns(DataWarning, match="a Pipeline does not transform validation"):
        pipeline.fit(far, Y, tangentridge__validation=held_out)


def test_validation_rows_that_train_as_well_are_told() -> None:
    model = TangentRidge(task="regression", network=(), random_state=0)
    trained = X[:45]
    others = 0.5 * X[45:]
    some_trained = (np.r_[trained, others], Y)
    with pytest.warns(DataWarning, match="45 of 60 validation rows are rows of the"):
        model.fit(X, Y, validation=some_trained)
    categories = np.sign(X)
    labels = np.sign(Y)
    new = (0.5 * X, Y)
    alike_by_chance = (categories, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        model.fit(X, Y, validation=new)
        model.fit(categories, labels, validation=alike_by_chance)


def test_a_label_at_the_ends_of_a_column_alone_is_not_given_away() -> None:
    """No neighbours on both sides tell whether it would be."""
    z = np.arange(20.0)
    y = np.zeros(20)
    y[[0, -1]] = 1.0
    with warnings.catch_warnings(action="error"):
        text = telling_auxiliary(z[:, None], y, ["z"], "classification")
    assert text is None
    inner = telling_auxiliary(z[:, None], (z > 9).astype(float), ["z"], "regression")
    assert inner is None
