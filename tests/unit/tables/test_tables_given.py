"""Tables, targets and weights as they are given: the same rows give the same bits, and
what cannot be read is named in one line."""

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
    KerhrmError,
    KerHRMRegressor,
    TangentRidge,
    table_encoder,
)
from kerhrm.estimators import DataWarning

N = 60
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 2))
WEIGHTS = RANDOM.random(N)
NOISE = 0.1 * RANDOM.normal(size=N)
Y = X[:, 0] + NOISE
CLASS = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b"])
SERIES = pd.Series(Y)
DAYS = pd.date_range("2020-01-01", periods=N)
LABELS = np.where(CLASS, "b", "a")
HOLES = X < -1


def read_only(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.setflags(write=False)
    return values


def fit(x: Any, y: Any, task: Any = "regression", weights: Any = None) -> np.ndarray:
    """Outputs at the rows of the table."""
    model = TangentRidge(task=task, network=(4,), random_state=0)
    model.fit(x, y, sample_weight=weights)
    return model.predict(x) if task == "regression" else model.decision_function(x)


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
}


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
    assert {type(label) for label in predicted} == {int}


MISSING = "missing"
BAD_TABLES: dict[str, tuple[Any, str]] = {
    "a mask": (np.ma.array(X, mask=HOLES), f"column 0 has {MISSING}.* in 9 rows"),
    "a mask over whole numbers": (
        np.ma.array((9 * X).astype(int), mask=HOLES),
        f"column 0 has {MISSING}",
    ),
    "a mask over objects": (
        np.ma.array(X.astype(object), mask=HOLES),
        f"column 0 has {MISSING}",
    ),
    "masked rows": (list(np.ma.array(X, mask=HOLES)), f"column 0 has {MISSING}"),
    "a masked value": (
        [[1.0, np.ma.masked], *X[1:].tolist()],
        f"column 1 has {MISSING}.* in 1 rows, the first is row 0",
    ),
    "NA": (FRAME.astype("Float64").mask(HOLES), f"column 'a' has {MISSING}"),
    "NA of truth values": (
        (FRAME > 0).astype("boolean").mask(HOLES),
        f"column 'a' has {MISSING}",
    ),
    "dates": (FRAME.assign(day=DAYS), "column 'day' must hold numbers; got '2020"),
    "dates alone": (pd.DataFrame({"day": DAYS}), "column 'day' must hold numbers"),
    "an array of dates": (DAYS.to_numpy()[:, None], "column 0 must hold numbers"),
    "dates with a zone": (
        FRAME.assign(day=DAYS.tz_localize("UTC")),
        "column 'day' must hold numbers",
    ),
    "durations": (FRAME.assign(span=DAYS - DAYS[0]), "column 'span' must hold numbers"),
    "months": (FRAME.assign(month=DAYS.to_period("M")), "column 'month' must hold"),
    "complex numbers": (X + 1j, "X cannot be used: Complex data not supported"),
    "one dimension": (X[:, 0], "got 1D array instead; Reshape your data"),
    "large whole numbers": (
        np.arange(N)[:, None] + 2**62,
        "column 0 has integers too large for float64 to tell apart; subtract",
    ),
    "numbers beyond float64": ([[10**400, 1]] * N, "a number that float64 cannot"),
    "a tensor without numbers": (torch.empty(N, 2, device="meta"), "on meta"),
    "a sparse tensor": (torch.from_numpy(X).to_sparse(), "NumPy cannot read"),
    "text with a line break": (np.full((N, 1), "a\nb"), "got 'a b' in row 0"),
    "a dictionary": ({"a": X[:, 0]}, "X cannot be used: .* not 'dict'; give a Data"),
}


@pytest.mark.filterwarnings("ignore:.*converting a masked element to nan")
@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_table_that_cannot_be_read_is_named(name: str) -> None:
    table, words = BAD_TABLES[name]
    with pytest.raises(KerhrmError, match=words) as caught:
        fit(table, Y)
    assert "\n" not in str(caught.value)


def test_the_hint_for_large_whole_numbers_is_followed() -> None:
    numbers = np.arange(N)[:, None]
    large = numbers + 2**62
    subtracted = large - large.min(0)
    expected = fit(numbers, Y)
    assert_array_equal(fit(subtracted, Y), expected)


BAD_TARGETS: dict[str, tuple[Any, str, str]] = {
    "a number and its text": (
        [1 if value else "1" for value in CLASS],
        "values of one kind; got 1 .numbers. and '1' .text.",
        "values of one kind",
    ),
    "truth values and numbers": ([True, 1, 0] * 20, "of one kind", "of one kind"),
    "a mask": (np.ma.array(CLASS, mask=CLASS), "missing .NaN. in 30", "missing"),
    "a mask of text": (
        np.ma.array(LABELS, mask=np.arange(N) < 2),
        "missing .NaN. in 2 rows, the first is row 0",
        "missing",
    ),
    "infinity": (np.where(CLASS, np.inf, 1), "y contains infinity", "infinity"),
    "bytes": (np.where(CLASS, b"a", b"b"), "bytes is not supported", "got b'"),
    "two columns": (np.c_[Y, Y], "must be a column", "must be a column"),
    "complex numbers": (Y + 1j, "got complex numbers", "got complex numbers"),
    "dates": (pd.Series(DAYS), "", "must hold numbers; got dates"),
    "words": (LABELS, "", "must hold numbers in a regression; got '[ab]' in row 0"),
    "another order": (SERIES.sort_values(), "another order", "another order"),
}


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", BAD_TARGETS)
def test_a_target_that_cannot_be_read_is_named(name: str, task: str) -> None:
    target, of_labels, of_numbers = BAD_TARGETS[name]
    words = of_labels if task == "classification" else of_numbers
    if not words:
        return
    with pytest.raises(KerhrmError, match=words) as caught:
        fit(FRAME, target, task)
    assert "\n" not in str(caught.value)


def test_the_hint_for_another_order_is_followed() -> None:
    turned = SERIES.sort_values()
    followed = turned.loc[FRAME.index]
    expected = fit(X, Y)
    assert_array_equal(fit(FRAME, followed), expected)
    by_the_users_word = turned.to_numpy()
    assert fit(FRAME, by_the_users_word).shape == (N,)


BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "negative": (-WEIGHTS, "finite and 0 or more; it is not in 60 rows"),
    "NaN": (np.where(CLASS, np.nan, 1), "it is not in 30 rows, .* with nan"),
    "infinity": (np.where(CLASS, np.inf, 1), "with inf"),
    "zero": (np.zeros(N), "sample_weight is zero in all rows"),
    "two dimensions": (WEIGHTS[:, None], r"shape \(60,\); got shape \(60, 1\)"),
    "a number": (2.0, r"shape \(60,\); got shape \(\)"),
    "a word": ("balanced", "must be numbers; got 'balanced'"),
    "a mask": (np.ma.array(WEIGHTS, mask=CLASS), "it is not in 30 rows"),
    "NA": (pd.Series(WEIGHTS).astype("Float64").mask(CLASS > 0), "index"),
    "dates": (DAYS, "sample_weight must be numbers"),
    "complex numbers": (WEIGHTS + 1j, "sample_weight must be numbers"),
    "another order": (pd.Series(WEIGHTS).sort_values(), "in another order"),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_weights_that_cannot_be_read_are_named(name: str) -> None:
    weights, words = BAD_WEIGHTS[name]
    with pytest.raises(KerhrmError, match=words) as caught:
        fit(FRAME, Y, weights=weights)
    assert "\n" not in str(caught.value)


def test_the_same_weights_give_the_same_bits() -> None:
    expected = fit(X, Y, weights=WEIGHTS)
    for weights in (WEIGHTS.tolist(), pd.Series(WEIGHTS), torch.from_numpy(WEIGHTS)):
        outputs = fit(FRAME, Y, weights=weights)
        assert_array_equal(outputs, expected)


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_labels_of_another_type_than_in_the_fit_are_refused() -> None:
    """NumPy would take 1 for "1", and then all rows for the other class."""
    model = KerHRMClassifier(k=2, n_init=1, network=(4,), random_state=0)
    model.fit(X, CLASS)
    text = CLASS.astype(str)
    words = "label '1' was not among those of the fit; known are 0 and 1"
    with pytest.raises(KerhrmError, match=words):
        model.report(X, text)
    with pytest.raises(KerhrmError, match=words):
        model.predict_environment_proba(X, text)
    errors = model.report(X, CLASS > 0).errors
    expected = model.report(X, CLASS).errors
    pd.testing.assert_frame_equal(errors, expected)


@pytest.mark.parametrize(
    ("validation", "words"),
    [
        (X, "must be a pair of rows and their target; got a ndarray"),
        ((X,), "got a tuple of 1; give validation="),
        (5, "got a int"),
        ((FRAME, SERIES.sort_values()), "in another order"),
        ((FRAME.mask(HOLES), Y), "column 'a' has missing"),
        ((X[:, :1], Y), "X has 1 features, .*; give the columns of the fit"),
    ],
)
def test_validation_rows_that_are_refused(validation: Any, words: str) -> None:
    model = TangentRidge(task="regression", network=(4,))
    table = X if words.startswith("X has") else FRAME
    with pytest.raises(KerhrmError, match=words):
        model.fit(table, Y, validation=validation)


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
    year = np.where(np.arange(N) < 2, 2022, 2023)
    model = TangentRidge(task="regression", network=(4,), random_state=0)
    model.fit(FRAME.assign(year=year), Y)
    new = FRAME.assign(year=value)
    with pytest.warns(DataWarning, match=r"column 'year': 2022 to 2023 there"):
        model.predict(new)


def test_rows_that_differ_in_the_target_alone_are_told() -> None:
    """Two measurements of each of many units."""
    twice = np.repeat(X, 2, axis=0)
    target_twice = np.repeat(Y, 2)
    noise = 0.01 * RANDOM.normal(size=2 * N)
    model = TangentRidge(task="regression", network=(), random_state=0)
    with pytest.warns(DataWarning, match="120 of 120 different rows have the inputs"):
        model.fit(twice, target_twice + noise)
    categories = np.repeat([[0.0, 1.0], [1.0, 0.0]], N, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(twice, target_twice)  # copies are one row
        model.fit(categories, np.r_[Y, Y])


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
    with pytest.warns(DataWarning, match="a Pipeline does not transform validation"):
        pipeline.fit(far, Y, tangentridge__validation=(far, Y))


def test_validation_rows_that_train_as_well_are_told() -> None:
    model = TangentRidge(task="regression", network=(), random_state=0)
    some_trained = np.r_[X[:45], 0.5 * X[45:]]
    with pytest.warns(DataWarning, match="45 of 60 validation rows are rows of the"):
        model.fit(X, Y, validation=(some_trained, Y))
    categories = np.sign(X)
    labels = np.sign(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        model.fit(X, Y, validation=(0.5 * X, Y))
        # alike by chance
        model.fit(categories, labels, validation=(categories, labels))


@pytest.mark.filterwarnings("ignore:.*predicting as ERM")
def test_environments_without_targets_are_refused() -> None:
    model = KerHRMRegressor(network=(4,), random_state=0)
    model.fit(FRAME, Y)
    with pytest.raises(KerhrmError, match="y is None; give y, or fit with auxiliary"):
        model.predict_environment_proba(FRAME)


def test_hints_for_one_row_work() -> None:
    model = TangentRidge(task="regression", network=(), random_state=0)
    model.fit(FRAME, Y)
    expected = model.predict(FRAME[:1])
    row = X[0]
    values = row.tolist()
    series = FRAME.iloc[0]
    #: what is given, the hint, and the row by the hint
    cases = [
        (
            row,
            r"X.reshape\(1, -1\) is one row, X.reshape\(-1, 1\) one col",
            row.reshape(1, -1),
        ),
        (
            values,
            r"\[X\] is one row, \[\[x\] for x in X\] is one column",
            [values],
        ),
        (
            series,
            r"a Series .*; give X.to_frame\(\).T for one row",
            series.to_frame().T,
        ),
    ]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for given, hint, followed in cases:
            with pytest.raises(KerhrmError, match=hint):
                model.predict(given)
            assert_array_equal(model.predict(followed), expected)


class LazyFrame:
    """As one of polars, which has no rows."""

    columns = ("a", "b")

    def collect(self) -> pd.DataFrame:
        return FRAME


def test_a_lazy_frame_is_collected_first() -> None:
    hint = r"a LazyFrame, which holds no rows yet; give X.collect\(\)"
    with pytest.raises(KerhrmError, match=hint):
        fit(LazyFrame(), Y)
    with pytest.raises(KerhrmError, match=r"of polars; give X.collect\(\)$"):
        table_encoder().fit(LazyFrame())
