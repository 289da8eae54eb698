"""Names of columns that are not all text: those of later rows are the fit's."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm import TangentRidge
from tests.unit.tables.given_table import FRAME, N, X, Y

YEARS = [2020, 2021]
AS_TEXT = ["2020", "2021"]
OBJECTS = pd.Index([np.int64(2020), np.int64(2021)], dtype=object)


def fitted(table: Any) -> TangentRidge:
    model = TangentRidge(task="regression", network=(4,), random_state=0)
    return model.fit(table, Y)


def named(names: Sequence[Any]) -> pd.DataFrame:
    return FRAME.set_axis(names, axis=1)


EXPECTED = fitted(X).predict(X)


@pytest.mark.parametrize(
    "names",
    [
        pd.Index([2019, 2020]),
        pd.RangeIndex(2),
        pd.MultiIndex.from_tuples([("size", "cm"), ("size", "kg")]),
        pd.date_range("2020-01-01", periods=2),
    ],
)
def test_columns_in_another_order_are_refused(names: Any) -> None:
    """scikit-learn compares names that are text, and reads others by position."""
    table = FRAME.set_axis(names, axis=1)
    model = TangentRidge(task="regression", network=(4,), random_state=0)
    predicted = model.fit(table, Y).predict(table)
    turned = table.iloc[:, ::-1]
    with refusal("columns of X are in another order") as told:
        model.predict(turned)
    assert "\n" not in str(told.value)
    assert_array_equal(model.predict(turned[names]), predicted)
    by_the_users_word = model.predict(turned.to_numpy())
    assert by_the_users_word.shape == (N,)
    later = table.set_axis(["a", "b"], axis=1).to_numpy()
    assert_array_equal(model.predict(later), predicted)


def test_names_of_an_earlier_fit_are_forgotten() -> None:
    model = TangentRidge(task="regression", network=(4,), random_state=0)
    model.fit(FRAME.set_axis([1, 2], axis=1), Y)
    model.fit(X, Y)
    numbered = FRAME.set_axis([2, 1], axis=1)
    assert_array_equal(model.predict(numbered), model.predict(X))


@pytest.mark.parametrize(
    ("names", "others", "choice"),
    [
        (YEARS, [2020.0, 2021.0], "X[[2020.0, 2021.0]]"),
        (YEARS, OBJECTS, "X[[2020, 2021]]"),
        (YEARS, AS_TEXT, "X[['2020', '2021']]"),
        ([2020.0, 2021.0], YEARS, "X[[2020, 2021]]"),
        ([2020.0, 2021.0], ["2020.0", "2021.0"], "X[['2020.0', '2021.0']]"),
        (AS_TEXT, YEARS, "X[[2020, 2021]]"),
    ],
)
def test_a_year_is_one_name_whatever_its_type(
    names: Any, others: Any, choice: str
) -> None:
    """A CSV file makes text of it."""
    model = fitted(named(names))
    later = named(others)
    turned = later.iloc[:, ::-1]
    with warnings.catch_warnings(action="error"):
        assert_array_equal(model.predict(later), EXPECTED)
    with refusal("columns of X are in another order than in the fit") as told:
        model.predict(turned)
    line = f"; give {choice}, or give X.to_numpy() if the order is right"
    assert str(told.value).endswith(line)
    assert_array_equal(model.predict(turned[list(others)]), EXPECTED)


def test_years_of_polars_are_those_of_the_fit() -> None:
    pl = pytest.importorskip("polars")
    model = fitted(named(YEARS))
    first, second = X.T
    later = pl.DataFrame({"2021": second, "2020": first})
    with refusal("in another order than in the fit; give X.*'2020', '2021'"):
        model.predict(later)
    with warnings.catch_warnings(action="error"):
        assert_array_equal(model.predict(later[AS_TEXT]), EXPECTED)


@pytest.mark.parametrize(
    ("names", "later", "words"),
    [
        (YEARS, named([2021, 2022]), "no column 2020 of the fit; it has 2022, which"),
        (YEARS, named(["a", "b"]), "no column 2020 and 1 more of the fit; it has 'a'"),
        (["a", "b"], named(YEARS), "no column 'a' and 1 more of the fit; it has 2020"),
        (YEARS, named(YEARS).assign(c=1), "must be all text or all numbers"),
        (YEARS, named(YEARS)[[2021]], "no column 2020 of the fit; add the column, or"),
        ([0, 1], named([1, 2]), "no column 0 of the fit; it has 2, which"),
        ([1, 2], named([0, 1]), "no column 2 of the fit; it has 0, which"),
    ],
)
def test_other_names_are_refused(
    names: Sequence[Any], later: pd.DataFrame, words: str
) -> None:
    with refusal(words) as told:
        fitted(named(names)).predict(later)
    assert "\n" not in str(told.value)


def test_a_column_too_many_is_named_and_left_out_by_the_hint() -> None:
    model = fitted(named(YEARS))
    wide = named(YEARS)
    wide[2022] = 1.0
    with refusal("X has column 2022, which was not in the fit; give X.*2020, 2021.*$"):
        model.predict(wide)
    assert_array_equal(model.predict(wide[[2020, 2021]]), EXPECTED)


@pytest.mark.parametrize("names", [YEARS, [0, 1]])
def test_columns_without_names_are_read_by_position(names: list[int]) -> None:
    """Of arrays, and of tables that are made of arrays."""
    table = named(names)
    of_array = pd.DataFrame(X)
    with warnings.catch_warnings(action="error"):
        for first, later in [(table, X), (X, table), (table, of_array)]:
            assert_array_equal(fitted(first).predict(later), EXPECTED)
        assert_array_equal(fitted(of_array).predict(table), EXPECTED)
        assert_array_equal(fitted(of_array).predict(named(["0", "1"])), EXPECTED)
