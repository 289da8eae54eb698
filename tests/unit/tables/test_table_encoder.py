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
from refusals import refusal
from sklearn.base import clone

from kerhrm import table_encoder
from kerhrm.estimators import DataWarning
from tests.unit.tables.given_table import Answer

N = 60
CODES = np.arange(N) % 3
DAYS = pd.date_range("2020-01-01", periods=N, freq="7h")


def table(values: Any) -> pd.DataFrame:
    numbers = np.arange(N) / 7
    return pd.DataFrame({"a": numbers, "c": values})


def objects(values: Any) -> pd.Series:
    return pd.Series(list(values), dtype=object)


LATER_CODES = CODES[1:].tolist()
HOURS = pd.to_timedelta(np.arange(N), "h")
MONTHS = pd.date_range("2020-01-01", periods=N, freq="MS")
DAYS_OF_JANUARY = [1 + i % 28 for i in range(N)]
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
        objects([None, *LATER_CODES]),
        [
            objects([pd.NA, *LATER_CODES]),
            pd.Series([np.nan, *LATER_CODES]),
            pd.Series([pd.NA, *LATER_CODES], dtype="Int64"),
            pd.Categorical([None, *LATER_CODES]),
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
        pd.Series([None, *LATER_CODES], dtype="Float64"),
        [pd.Series([np.nan, *LATER_CODES]), objects([None, *LATER_CODES])],
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
            MONTHS,
            MONTHS.strftime("%Y-%m"),
            objects(pd.period_range("2020-01", periods=N, freq="M")),
        ],
    ),
    "periods among objects": (
        objects([None, *pd.period_range("2020-02", periods=N - 1, freq="M")]),
        [MONTHS.where(np.arange(N) > 0)],
    ),
    "days among objects": (
        objects(datetime.date(2020, 1, day) for day in DAYS_OF_JANUARY),
        [pd.to_datetime([f"2020-01-{day:02}" for day in DAYS_OF_JANUARY])],
    ),
    "durations": (
        HOURS,
        [
            HOURS.as_unit("ns"),
            objects(datetime.timedelta(hours=i) for i in range(N)),
            pd.Series(HOURS).astype(str),
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


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        (CODES, CODES.tolist()),
        (CODES / 2, (CODES / 2).tolist()),
        (pd.Series([np.nan, *LATER_CODES]), [None, *LATER_CODES]),
        (CODES == 1, (CODES == 1).tolist()),
        (CODES, [decimal.Decimal(int(code)) for code in CODES]),
    ],
)
def test_numbers_among_objects_are_numbers(typed: Any, values: list[Any]) -> None:
    """As `kerhrm check` reads them, and as one fraction among them would have it."""
    expected = table_encoder().fit_transform(table(typed))
    encoded = table_encoder().fit_transform(table(objects(values)))
    assert_frame_equal(encoded, expected)
    texts = [str(value) for value in values]
    assert table_encoder().fit_transform(table(texts)).shape[1] > expected.shape[1]


def test_dates_and_durations_are_days() -> None:
    numbers = np.arange(N)
    durations = pd.to_timedelta(numbers, "h")
    columns = pd.DataFrame({"on": DAYS, "for": durations})
    encoded = table_encoder().fit_transform(columns)
    first_day = 18262
    days = numbers / 24
    expected = first_day + 7 * numbers / 24
    assert_allclose(encoded["on"], expected, 1e-15)
    assert_allclose(encoded["for"], days, 1e-15)


@pytest.mark.parametrize(
    ("fitted", "other", "message"),
    [
        (CODES, ["1", "b"] * 30, "'c' must hold numbers, as in the fit; got 'b' in in"),
        (CODES, DAYS, "'c' must hold numbers, as in the fit; got '2020"),
        (CODES, ["1,5"] * N, "'1,5' in .*; write plain numbers, such as 1234.5"),
        (DAYS, ["31.12.2024"] * N, "write dates as 2024-12-31, or give pd.to_dat"),
        (DAYS, ["2020-01-01", "x"] * 30, "'c' must hold dates, .*got 'x' in index 1"),
        (DAYS, np.arange(N), "'c' must hold dates"),
        (DAYS, ["2020-01-01", "now"] * 30, "'c' must hold dates, .*got 'now' in"),
        (DAYS, ["-0044-03-15"] * N, "'c' must hold dates, .*got '-0044-03-15' in"),
        (pd.to_timedelta(CODES, "D"), CODES, "'c' must hold durations.*pd.to_timed"),
        (pd.to_timedelta(CODES, "D"), ["2024-01"] * N, "'c' must hold dura.*'2024-01'"),
        (CODES, np.r_[np.inf, CODES[1:]], "column 'c' has .*index 0, with inf"),
    ],
)
def test_values_of_another_kind_are_named(
    fitted: Any, other: Any, message: str
) -> None:
    encoder = table_encoder().fit(table(fitted))
    new = table(other)
    with refusal(message):
        encoder.transform(new)
    with refusal("X has no rows; give one row or more"):
        encoder.transform(new.head(0))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (table([[1]] * N), "column 'c' holds lists"),
        (table([{}] * N), "column 'c' holds lists"),
        (table([bytearray(b"a")] * N), "column 'c' holds lists"),
        (table([CODES[:1] * 1j, 1.5] * (N // 2)), "column 'c' holds lists"),
        (table([2j, 1.5] * (N // 2)), "column 'c' holds complex numbers"),
        (table(CODES * 1j), "column 'c' holds complex numbers"),
        (table(CODES).set_axis(["a", "a"], axis=1), "two columns are called 'a'"),
        (table(CODES).set_axis([1, "1"], axis=1), "two columns are called '1'"),
        (table(CODES).head(0), "X has no rows; give one row or more"),
        (np.ones((N, 2)), "X must be a DataFrame; got ndarray"),
    ],
)
def test_what_cannot_be_encoded_is_refused(X: Any, message: str) -> None:
    with refusal(message):
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
    fields = ["law", "care", "art"] * 20
    X = pd.DataFrame({"a": np.arange(N), "field": fields})
    encoder = table_encoder().fit(X)
    words = "'field' has no value that was in the fit, as 'Law'; it had 'art', 'care', "
    misspelt = X.assign(field="Law")
    with pytest.warns(DataWarning, match=words) as warned:
        encoded = encoder.transform(misspelt)
    assert warned[0].filename == __file__
    of_field = encoded.filter(like="field")
    encoded_field = of_field.to_numpy()
    assert not encoded_field.any()
    fields = ["Law", "law"] * 30
    some_misspelt = X.assign(field=fields)
    encoder.transform(some_misspelt)
    some_numbers = [f"{i % 30 % 25}" for i in range(N)]
    many = pd.DataFrame({"field": [*some_numbers, "0", "0"]})
    encoder = table_encoder().fit(many)
    with pytest.warns(DataWarning, match="look at its spelling"):
        encoder.transform(many + "x")


def test_text_that_names_rows_is_left_out() -> None:
    """Its columns of 0 and 1 would each mark a few rows."""
    amounts = np.arange(N, dtype=float)
    names = [f"row {i // 2}" for i in range(N)]
    fields = [f"{i % 15}" for i in range(N)]  # four rows each, and few of them
    X = pd.DataFrame({"amount": amounts, "name": names, "field": fields})
    with pytest.warns(DataWarning, match="column 'name' is left out: its text differs"):
        encoder = table_encoder().fit(X)
    expected = table_encoder().fit_transform(X.drop(columns="name"))
    assert_frame_equal(encoder.transform(X), expected)
    assert_frame_equal(encoder.transform(X.drop(columns="name")), expected)
    with refusal("no column is left that predicts besides 'name': its text differs"):
        table_encoder().fit(X[["name"]])


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64"])
def test_whole_numbers_that_float64_cannot_tell_apart_are_refused(dtype: str) -> None:
    codes = pd.Series(2**53 + CODES, dtype=dtype)
    is_late = np.arange(N) > 5
    with_holes = codes.where(is_late)
    tables = (table(codes), table(with_holes))
    for X in tables:
        if X["c"].dtype == float:
            continue
        with refusal(r"'c' has integers .* subtract its least"):
            table_encoder().fit(X)
    encoder = table_encoder().fit(table(CODES))
    text = table(codes.astype(str))
    with refusal("'c' has integers too large"):
        encoder.transform(text)
    even_codes = 2**53 + 2 * CODES
    even = pd.Series(even_codes, dtype=dtype)
    encoder.fit(table(even))


def test_columns_are_found_by_name() -> None:
    X = table(CODES)
    encoder = table_encoder().fit(X)
    expected = encoder.transform(X)
    in_another_order = X[["c", "a"]]
    with_more = X.assign(more=1)
    for other in (in_another_order, with_more):
        encoded = encoder.transform(other)
        assert_frame_equal(encoded, expected)
    renamed = X.rename(columns={"c": "C"})
    with refusal("column 'c' of the fit is missing"):
        encoder.transform(renamed)
    letters = ["a", "b"] * 30
    numbered = pd.DataFrame({0: CODES, 1: letters}, index=DAYS)
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
    texts = pd.DataFrame({"c": FAR})
    from_text = encoder.transform(texts)
    assert from_text["c"].tolist() == expected
    column[1] = None
    with_a_hole = encoder.fit_transform(column.to_frame())
    first = with_a_hole["c"].iloc[0]
    assert first == expected[0]


def test_a_table_without_columns_or_of_another_library() -> None:
    without_columns = pd.DataFrame(index=[1, 2])
    with refusal("X has no columns; give one"):
        table_encoder().fit_transform(without_columns)

    class Table:
        """As those of polars and pyarrow."""

        __module__ = "polars.dataframe.frame"

        def to_pandas(self) -> pd.DataFrame:
            return pd.DataFrame()

    problem = r"got Table of polars; give X.to_pandas\(\)"
    with refusal(problem):
        table_encoder().fit(Table())


def test_long_floats_are_numbers() -> None:
    long_floats = table(DAYS.day.to_numpy().astype(np.longdouble))
    floats = table(DAYS.day.to_numpy().astype(float))
    encoded = table_encoder().fit_transform(long_floats)
    assert_frame_equal(encoded, table_encoder().fit_transform(floats))
    complex_numbers = table(DAYS.day.to_numpy().astype(np.clongdouble))
    with refusal("'c' holds complex numbers"):
        table_encoder().fit(complex_numbers)


def test_sparse_columns_are_columns_of_numbers() -> None:
    given = table(CODES.astype(float))
    sparse = given.astype({"c": pd.SparseDtype(float, 0.0)})
    expected = table_encoder().fit(given).transform(given)
    encoder = table_encoder().fit(sparse)
    assert_frame_equal(encoder.transform(sparse), expected)
    assert_frame_equal(encoder.transform(given), expected)


def test_a_member_of_a_text_enum_is_its_value() -> None:
    members = objects([Answer.YES, Answer.NO] * (N // 2))
    words = objects(["yes", "no"] * (N // 2))
    expected = table_encoder().fit(table(words)).transform(table(words))
    encoder = table_encoder().fit(table(members))
    assert_frame_equal(encoder.transform(table(words)), expected)
    encoder = table_encoder().fit(table(words))
    assert_frame_equal(encoder.transform(table(members)), expected)
