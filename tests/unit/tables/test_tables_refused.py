"""Tables, targets and weights that cannot be read: named in one line, with the cure."""

import datetime
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from refusals import refusal

from kerhrm import (
    JTT,
    KerHRMClassifier,
    KerHRMRegressor,
    TangentRidge,
    table_encoder,
)
from kerhrm.check import check
from tests.unit.tables.given_table import (
    CLASS,
    DAYS,
    FRAME,
    HOLES,
    LABELS,
    SERIES,
    WEIGHTS,
    Answer,
    N,
    X,
    Y,
    fit,
)

MISSING = "missing"


COLUMNS_OF_DAYS = DAYS.to_numpy()[:, None]
WHOLE_NUMBERS = (9 * X).astype(int)
TRUTH_VALUES = (FRAME > 0).astype("boolean")
SPANS = DAYS - DAYS[0]
MASKED = np.ma.array(X, mask=HOLES)
LARGE = np.arange(N)[:, None] + 2**62
TIMES = COLUMNS_OF_DAYS.astype("datetime64[ns]")

BAD_TABLES: dict[str, tuple[Any, str]] = {
    "a mask": (MASKED, f"column 0 has {MISSING}.* in 9 rows"),
    "a mask over whole numbers": (
        np.ma.array(WHOLE_NUMBERS, mask=HOLES),
        f"column 0 has {MISSING}",
    ),
    "a mask over objects": (
        np.ma.array(X.astype(object), mask=HOLES),
        f"column 0 has {MISSING}",
    ),
    "masked rows": (list(MASKED), f"column 0 has {MISSING}"),
    "a masked value": (
        [[1.0, np.ma.masked], *X[1:].tolist()],
        f"column 1 has {MISSING}.* in 1 row, the first is row 0",
    ),
    "NA": (FRAME.astype("Float64").mask(HOLES), f"column 'a' has {MISSING}"),
    "NA among objects": (
        FRAME.astype(object).mask(HOLES, pd.NA),
        f"column 'a' has {MISSING}",
    ),
    "NA in an array of objects": (
        FRAME.astype(object).mask(HOLES, pd.NA).to_numpy(),
        f"column 0 has {MISSING}",
    ),
    "NA of truth values": (
        TRUTH_VALUES.mask(HOLES),
        f"column 'a' has {MISSING}",
    ),
    "dates": (FRAME.assign(day=DAYS), "column 'day' must hold numbers; got '2020"),
    "dates alone": (pd.DataFrame({"day": DAYS}), "column 'day' must hold numbers"),
    "an array of dates": (COLUMNS_OF_DAYS, "column 0 must hold numbers"),
    "dates with a zone": (
        FRAME.assign(day=DAYS.tz_localize("UTC")),
        "column 'day' must hold numbers",
    ),
    "durations": (FRAME.assign(span=SPANS), "column 'span' must hold numbers"),
    "months": (FRAME.assign(month=DAYS.to_period("M")), "column 'month' must hold"),
    "complex numbers": (X + 1j, "X cannot be used: Complex data not supported"),
    "one dimension": (X[:, 0], "got 1D array instead; Reshape your data"),
    "large whole numbers": (
        np.arange(N)[:, None] + 2**62,
        "column 0 has integers too large for float64 to tell apart; subtract",
    ),
    "large whole numbers among objects": (
        LARGE.astype(object),
        "column 0 has integers too large for float64 to tell apart; subtract",
    ),
    "large whole numbers as text": (
        pd.DataFrame({"id": LARGE[:, 0].astype(str), "x": X[:, 0]}, dtype=object),
        "column 'id' has integers too large for float64",
    ),
    "large whole numbers next to others": (
        [[int(number), 0.5] for number in LARGE[:, 0]],
        "column 0 has integers too large for float64",
    ),
    "NumPy's times among objects": (
        np.array([[time, 1.0] for time in TIMES[:, 0]], dtype=object),
        "column 0 must hold numbers; got .* in row 0",
    ),
    "NumPy's times in a column of objects": (
        FRAME.assign(day=pd.Series(list(TIMES[:, 0]), dtype=object)),
        "column 'day' must hold numbers; got .* in index 0",
    ),
    "NumPy's durations in rows": (
        [[0.5, time - TIMES[0, 0]] for time in TIMES[:, 0]],
        "column 1 must hold numbers; got .* in row 0",
    ),
    "numbers beyond float64": ([[10**400, 1]] * N, "a number that float64 cannot"),
    "a tensor without numbers": (torch.empty(N, 2, device="meta"), "on meta"),
    "a sparse tensor": (torch.from_numpy(X).to_sparse(), "NumPy cannot read"),
    "Python's digits in text": (
        [["1_000", 0.5], *X[1:].tolist()],
        "column 0 must hold numbers; got '1_000' in row 0",
    ),
    "Python's digits in an array of text": (
        np.array([["0.5", "1_000"], *X[1:].astype(str).tolist()]),
        "column 1 must hold numbers; got '1_000' in row 0",
    ),
    "Python's digits in a column of text": (
        FRAME.assign(size=pd.Series(["1_000", *["2"] * (N - 1)], dtype="string")),
        "column 'size' must hold numbers; got '1_000' in index 0",
    ),
    "Python's digits in bytes": (
        np.full((N, 1), b"1_0"),
        "column 0 must hold numbers; got .b'1_0'. in row 0",
    ),
    "Python's digits in a category": (
        FRAME.assign(size=pd.Categorical(["1_0", "2"] * (N // 2))),
        "column 'size' must hold numbers; got '1_0' in index 0",
    ),
    "text with a line break": (np.full((N, 1), "a\nb"), "got 'a b' in row 0"),
    "a dictionary": ({"a": X[:, 0]}, "X cannot be used: .* not 'dict'; give a Data"),
}


@pytest.mark.filterwarnings("ignore:.*converting a masked element to nan")
@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_table_that_cannot_be_read_is_named(name: str) -> None:
    table, words = BAD_TABLES[name]
    with refusal(words) as caught:
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
    "durations": (
        pd.to_timedelta(Y, "D"),
        "",
        "must hold numbers; got durations; give a number, as pd.to_timedelta",
    ),
    "months": (
        pd.period_range("2020-01", periods=N, freq="M"),
        "",
        "got Period.* in row 0 .*; give a number, as days since a date",
    ),
    "times of day": (
        [datetime.time(hour=n % 24) for n in range(N)],
        "",
        "got datetime.time.*; give a number, .* or seconds since midnight",
    ),
    "words": (LABELS, "", "must hold numbers in a regression; got '[ab]' in row 0"),
    "Python's digits in text": (
        ["1_000", *Y[1:].astype(str)],
        "",
        "must hold numbers in a regression; got '1_000' in row 0",
    ),
    "a blank after a class": (
        np.where(CLASS, "yes", "yes "),
        "y: 'yes' and 'yes ' have the same name, yes; give pd.Series.y..str.strip",
        "",
    ),
    "a blank after some of a class": (
        ["yes", "yes ", "no"] * 20,
        "y: 'yes' and 'yes ' have the same name",
        "",
    ),
    "another order": (SERIES.sort_values(), "another order", "another order"),
    "rows of several lengths": (
        [[1], [2, 3]] * 30,
        "must be a column of numbers or labels; got list",
        "must be a column of numbers or labels; got list",
    ),
    "large whole numbers": (LARGE[:, 0], "", "y has integers too large for float64"),
    "large whole numbers, nullable": (
        pd.Series(LARGE[:, 0], dtype="Int64"),
        "",
        "y has integers too large for float64 to tell apart; subtract its least",
    ),
    "one text of an Enum": (
        [Answer.NO] * N,
        "the target y is constant",
        "must hold numbers",
    ),
}


@pytest.mark.parametrize(
    "kind", [list, np.asarray, pd.Series, lambda y: pd.Series(y, dtype=object)]
)
def test_the_hint_for_durations_is_followed(kind: Any) -> None:
    y = kind(pd.to_timedelta(np.arange(N), "s"))
    with refusal("durations; give a number, as pd.to_timedelta.y. / pd.Timedelta."):
        fit(X, y)
    seconds = pd.to_timedelta(y) / pd.Timedelta("1s")
    assert_array_equal(fit(X, seconds), fit(X, np.arange(N)))


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("name", BAD_TARGETS)
def test_a_target_that_cannot_be_read_is_named(name: str, task: str) -> None:
    target, of_labels, of_numbers = BAD_TARGETS[name]
    words = of_labels if task == "classification" else of_numbers
    if not words:
        return
    with refusal(words) as caught:
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
    "two columns": (WEIGHTS.reshape(30, 2), r"shape \(60,\); got shape \(30, 2\)"),
    "a number": (2.0, r"shape \(60,\); got shape \(\)"),
    "a word": ("balanced", "must be numbers; got 'balanced'"),
    "Python's digits in text": (["1_0"] * N, "must be numbers; got .'1_0'"),
    "a mask": (np.ma.array(WEIGHTS, mask=CLASS), "it is not in 30 rows"),
    "NA": (pd.Series(WEIGHTS).astype("Float64").mask(CLASS > 0), "index"),
    "dates": (DAYS, "sample_weight must be numbers"),
    "complex numbers": (WEIGHTS + 1j, "sample_weight must be numbers"),
    "another order": (pd.Series(WEIGHTS).sort_values(), "in another order"),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_weights_that_cannot_be_read_are_named(name: str) -> None:
    weights, words = BAD_WEIGHTS[name]
    with refusal(words) as caught:
        fit(FRAME, Y, weights=weights)
    assert "\n" not in str(caught.value)


def test_a_classifier_without_a_task_names_estimators_that_take_numbers() -> None:
    for model in (JTT(), TangentRidge(task="classification")):
        with refusal(
            "for a numeric target use KerHRMRegressor, or task='regression' wh"
        ):
            model.fit(X, Y)


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_labels_of_another_type_than_in_the_fit_are_refused() -> None:
    """NumPy would take 1 for "1", and then all rows for the other class."""
    model = KerHRMClassifier(k=2, n_init=1, network=(4,), random_state=0)
    model.fit(X, CLASS)
    text = CLASS.astype(str)
    words = "label '1' was not among those of the fit; known are 0 and 1"
    with refusal(words):
        model.report(X, text)
    with refusal(words):
        model.predict_environment_proba(X, text)
    truth_values = CLASS > 0
    errors = model.report(X, truth_values).errors
    expected = model.report(X, CLASS).errors
    assert_frame_equal(errors, expected)


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
    with refusal(words):
        model.fit(table, Y, validation=validation)


@pytest.mark.filterwarnings("ignore:.*predicting as ERM")
def test_environments_without_targets_are_refused() -> None:
    model = KerHRMRegressor(network=(4,), random_state=0)
    model.fit(FRAME, Y)
    with refusal("y is None; give y, or fit with auxiliary"):
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
            with refusal(hint):
                model.predict(given)
            predictions = model.predict(followed)
            assert_array_equal(predictions, expected)


class LazyFrame:
    """As one of polars, which has no rows."""

    columns = ("a", "b")

    def collect(self) -> pd.DataFrame:
        return FRAME


def test_a_lazy_frame_is_collected_first() -> None:
    hint = r"a LazyFrame, which holds no rows yet; give X.collect\(\)"
    with refusal(hint):
        fit(LazyFrame(), Y)
    with refusal(r"of polars; give X.collect\(\)$"):
        table_encoder().fit(LazyFrame())
    with refusal(r"table must be a DataFrame; .* of polars; give table.collect\(\)$"):
        check(LazyFrame(), "a")
