"""``table_encoder``: the same numbers whatever the type of a column.

No column takes the name of another.
"""

import datetime
import decimal
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.base import clone

from kerhrm import table_encoder
from kerhrm.errors import KerhrmError
from kerhrm.estimators import DataWarning

N = 60
CODES = np.arange(N) % 3
DAYS = pd.date_range("2020-01-01", periods=N, freq="7h")


def table(values: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(N) / 7, "c": values})


def objects(values: Any) -> pd.Series:
    return pd.Series(list(values), dtype=object)


SAME: dict[str, tuple[Any, list[Any]]] = {
    "categories": (
        pd.Categorical(CODES),
        [
            CODES,
            CODES.astype(float),
            CODES.astype("float32"),
            pd.Series(CODES, dtype="Int64"),
            pd.Series(CODES).astype(str),
            pd.Series(CODES).astype("string"),
            pd.Series(CODES.astype(float)).astype(str),
            pd.Series(CODES).astype(str).astype("category"),
            objects(CODES.tolist()),
        ],
    ),
    "objects": (
        objects([None, *CODES[1:].tolist()]),
        [
            objects([pd.NA, *CODES[1:].tolist()]),
            pd.Series([np.nan, *CODES[1:]]),
            pd.Series([pd.NA, *CODES[1:]], dtype="Int64"),
            pd.Categorical([None, *CODES[1:]]),
        ],
    ),
    "numbers": (
        CODES,
        [
            CODES.astype("float32"),
            pd.Series(CODES, dtype="Int8"),
            pd.Series(CODES).astype(str),
            objects([decimal.Decimal(int(code)) for code in CODES]),
            pd.Categorical(CODES),
            pd.Series(CODES, dtype="Sparse[int]"),
        ],
    ),
    "missing numbers": (
        pd.Series([None, *CODES[1:]], dtype="Float64"),
        [pd.Series([np.nan, *CODES[1:]]), objects([None, *CODES[1:].tolist()])],
    ),
    "truth values": (
        CODES == 1,
        [
            pd.Series(CODES == 1, dtype="boolean"),
            pd.Series(CODES == 1).astype(str),
            objects((CODES == 1).tolist()),
            (CODES == 1).astype(int),
        ],
    ),
    "dates": (
        DAYS,
        [
            DAYS.as_unit("s"),
            DAYS.as_unit("ns"),
            DAYS.tz_localize("UTC"),
            DAYS.tz_localize("UTC").tz_convert("Asia/Tokyo"),
            DAYS.strftime("%Y-%m-%d %H:%M"),
            objects(DAYS),
        ],
    ),
    "months": (
        pd.period_range("2020-01", periods=N, freq="M"),
        [
            pd.date_range("2020-01-01", periods=N, freq="MS"),
            pd.date_range("2020-01-01", periods=N, freq="MS").strftime("%Y-%m"),
        ],
    ),
    "days among objects": (
        objects(datetime.date(2020, 1, 1 + i % 28) for i in range(N)),
        [pd.to_datetime([f"2020-01-{1 + i % 28:02}" for i in range(N)])],
    ),
    "durations": (
        pd.to_timedelta(np.arange(N), "h"),
        [
            pd.to_timedelta(np.arange(N), "h").as_unit("ns"),
            objects(datetime.timedelta(hours=i) for i in range(N)),
            pd.Series(pd.to_timedelta(np.arange(N), "h")).astype(str),
        ],
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_values_are_the_same_numbers_in_any_type(case: str) -> None:
    fitted, others = SAME[case]
    encoder = table_encoder()
    expected = encoder.fit_transform(table(fitted))
    assert expected.dtypes.eq(float).all()
    for other in others:
        encoded = encoder.transform(table(other))
        assert_frame_equal(encoded, expected)


def test_dates_and_durations_are_days() -> None:
    numbers = np.arange(N)
    columns = {"on": DAYS, "for": pd.to_timedelta(numbers, "h")}
    encoded = table_encoder().fit_transform(pd.DataFrame(columns))
    first_day = 18262
    expected = first_day + 7 * numbers / 24
    assert_allclose(encoded["on"], expected, 1e-15)
    assert_allclose(encoded["for"], numbers / 24, 1e-15)


@pytest.mark.parametrize(
    ("fitted", "other", "message"),
    [
        (CODES, ["1", "b"] * 30, "'c' must hold numbers, as in the fit; got 'b' in in"),
        (CODES, DAYS, "'c' must hold numbers, as in the fit; got '2020"),
        (DAYS, ["2020-01-01", "x"] * 30, "'c' must hold dates, .*got 'x' in index 1"),
        (DAYS, np.arange(N), "'c' must hold dates"),
        (DAYS, ["2020-01-01", "now"] * 30, "'c' must hold dates, .*got 'now' in"),
        (DAYS, ["-0044-03-15"] * N, "'c' must hold dates, .*got '-0044-03-15' in"),
        (pd.to_timedelta(CODES, "D"), CODES, "'c' must hold durations"),
        (CODES, np.r_[np.inf, CODES[1:]], "column 'c' has .*index 0, with inf"),
    ],
)
def test_values_of_another_kind_are_named(
    fitted: Any, other: Any, message: str
) -> None:
    encoder = table_encoder().fit(table(fitted))
    new = table(other)
    with pytest.raises(KerhrmError, match=message):
        encoder.transform(new)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (table([[1]] * N), "column 'c' holds lists"),
        (table([{}] * N), "column 'c' holds lists"),
        (table(CODES * 1j), "column 'c' holds complex numbers"),
        (table(CODES).set_axis(["a", "a"], axis=1), "two columns are called 'a'"),
        (table(CODES).set_axis([1, "1"], axis=1), "two columns are called '1'"),
        (np.ones((N, 2)), "X must be a DataFrame; got ndarray"),
    ],
)
def test_what_cannot_be_encoded_is_refused(X: Any, message: str) -> None:
    with pytest.raises(KerhrmError, match=message):
        table_encoder().fit(X)


def test_no_column_takes_the_name_of_another() -> None:
    number = np.arange(6.0)
    X = pd.DataFrame(
        {
            "sex": list("fmfmfm"),
            "sex_m": number,
            "a": ["b_c", "x"] * 3,
            "a_b": ["c", "y"] * 3,
            "z": [None, *number[1:]],
            "missingindicator_z": number,
        }
    )
    encoder = table_encoder()
    encoded = encoder.fit_transform(X)
    assert encoded.columns.is_unique
    for name in ("sex_m", "missingindicator_z"):
        assert_array_equal(encoded[name], number)
    assert_array_equal(encoded["sex_m_2"], X["sex"] == "m")
    expected = X["z"].isna()
    assert_array_equal(encoded["missingindicator_z_2"], expected)
    assert_array_equal(encoded["a_b_c"], X["a"] == "b_c")
    assert_array_equal(encoded["a_b_c_2"], X["a_b"] == "c")
    names = encoder.get_feature_names_out().tolist()
    assert names == encoded.columns.tolist()


def test_a_column_whose_later_values_are_all_unseen_is_warned_of() -> None:
    X = pd.DataFrame({"a": np.arange(N), "field": ["law", "care", "art"] * 20})
    encoder = table_encoder().fit(X)
    words = "'field' has no value that was in the fit, as 'Law'; it had 'art', 'care', "
    misspelt = X.assign(field="Law")
    with pytest.warns(DataWarning, match=words) as warned:
        encoded = encoder.transform(misspelt)
    assert warned[0].filename == __file__
    encoded_field = encoded.filter(like="field").to_numpy()
    assert not encoded_field.any()
    some_misspelt = X.assign(field=["Law", "law"] * 30)
    encoder.transform(some_misspelt)
    many = pd.DataFrame({"field": [f"{i}" for i in range(N)]})
    encoder = table_encoder().fit(many)
    with pytest.warns(DataWarning, match="look at its spelling"):
        encoder.transform(many + "x")


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64"])
def test_whole_numbers_that_float64_cannot_tell_apart_are_refused(dtype: str) -> None:
    codes = pd.Series(2**53 + CODES, dtype=dtype)
    with_holes = codes.where(np.arange(N) > 5)
    for X in (table(codes), table(with_holes)):
        if X["c"].dtype == float:
            continue
        with pytest.raises(KerhrmError, match=r"'c' has integers .* subtract the colu"):
            table_encoder().fit(X)
    encoder = table_encoder().fit(table(CODES))
    text = table(codes.astype(str))
    with pytest.raises(KerhrmError, match="'c' has integers too large"):
        encoder.transform(text)
    even = pd.Series(2**53 + 2 * CODES, dtype=dtype)
    encoder.fit(table(even))


def test_columns_are_found_by_name() -> None:
    X = table(CODES)
    encoder = table_encoder().fit(X)
    expected = encoder.transform(X)
    for other in (X[["c", "a"]], X.assign(more=1)):
        assert_frame_equal(encoder.transform(other), expected)
    with pytest.raises(KerhrmError, match="column 'c' of the fit is missing"):
        encoder.transform(X.rename(columns={"c": "C"}))
    letters = list("ab")
    numbered = pd.DataFrame({0: CODES, 1: letters * 30}, index=DAYS)
    encoded = table_encoder().fit_transform(numbered)
    assert encoded.columns.tolist() == ["0", "1_a", "1_b"]
    assert encoded.index.equals(DAYS)


def test_a_fitted_encoder_is_saved_and_cloned() -> None:
    encoder = table_encoder().fit(table(DAYS))
    again = pickle.loads(pickle.dumps(encoder))
    encoded = encoder.transform(table(DAYS))
    encoded_again = again.transform(table(DAYS))
    assert_frame_equal(encoded_again, encoded)
    assert not hasattr(clone(encoder), "parts_")


FAR = ["9999-12-31", "2020-01-01", "0001-01-01"]


@pytest.mark.parametrize(
    "dates",
    [
        [datetime.date.fromisoformat(day) for day in FAR],
        [datetime.datetime.fromisoformat(day) for day in FAR],
        np.array(FAR, dtype="datetime64[s]"),
        pd.PeriodIndex(FAR, freq="D"),
        pd.PeriodIndex(FAR, freq="h"),
    ],
)
@pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 reads 1677 to 2262")
def test_dates_out_of_the_bounds_of_nanoseconds(dates: Any) -> None:
    column = pd.Series(dates, name="c")
    expected = [2932896, 18262, -719162]
    encoder = table_encoder()
    encoded = encoder.fit_transform(column.to_frame())
    assert encoded["c"].tolist() == expected
    from_text = encoder.transform(pd.DataFrame({"c": FAR}))
    assert from_text["c"].tolist() == expected
    column[1] = None
    with_a_hole = encoder.fit_transform(column.to_frame())
    assert with_a_hole["c"].iloc[0] == expected[0]


def test_a_table_without_columns_or_of_another_library() -> None:
    with pytest.raises(KerhrmError, match="X has no columns; give one"):
        table_encoder().fit_transform(pd.DataFrame(index=[1, 2]))

    class Table:
        """As those of polars and pyarrow."""

        __module__ = "polars.dataframe.frame"

        def to_pandas(self) -> pd.DataFrame:
            return pd.DataFrame()

    problem = r"got Table of polars; give X.to_pandas\(\)"
    with pytest.raises(KerhrmError, match=problem):
        table_encoder().fit(Table())
