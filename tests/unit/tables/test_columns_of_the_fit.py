"""Columns of later rows, by name: others are refused, and empty ones are told."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm import KerHRMRegressor, TangentRidge, table_encoder
from kerhrm.errors import DataWarning, InputTypeError

RANDOM = np.random.default_rng(0)
FRAME = pd.DataFrame(RANDOM.normal(size=(40, 3)), columns=["a", "b", "c"])
Y = FRAME["a"].to_numpy() + RANDOM.normal(size=40)


def ridge() -> TangentRidge:
    return TangentRidge(task="regression", network=(16,), random_state=0)


@pytest.fixture(scope="module")
def model() -> TangentRidge:
    with warnings.catch_warnings(action="ignore"):  # few rows
        return ridge().fit(FRAME, Y)


def first_line(error: Exception) -> str:
    line, *others = str(error).splitlines()
    # its checks of estimators ask for scikit-learn's own
    assert others[0].startswith("The feature names should match")
    return line


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            FRAME[["b", "a", "c"]],
            "the columns of X are in another order than in the fit; "
            "give X[list(model.feature_names_in_)]",
        ),
        (
            FRAME[["a"]],
            "X has no column 'b' and 1 more of the fit; add the column, or fit "
            "without it",
        ),
        (
            FRAME.assign(d=1),
            "X has column 'd', which was not in the fit; "
            "give X[list(model.feature_names_in_)]",
        ),
        (
            FRAME.rename(columns={"a": "A"}),
            "X has no column 'a' of the fit; it has 'A', which the fit had not; "
            "rename the columns as in the fit",
        ),
    ],
)
def test_the_first_line_says_what_differs_and_the_cure(
    model: TangentRidge, given: pd.DataFrame, line: str
) -> None:
    with refusal("feature names") as caught:
        model.predict(given)
    assert first_line(caught.value) == line


def test_the_cure_works_for_tables_of_pandas_and_polars(model: TangentRidge) -> None:
    others = FRAME.assign(d=1)[["d", "c", "b", "a"]]
    expected = model.predict(FRAME)
    chosen = others[list(model.feature_names_in_)]
    assert_array_equal(model.predict(chosen), expected)
    columns = {name: others[name].to_numpy() for name in others}
    pl = pytest.importorskip("polars")
    of_polars = pl.DataFrame(columns)
    with refusal("X has column 'd', which was not in the fit"):
        model.predict(of_polars)
    chosen_of_polars = of_polars[list(model.feature_names_in_)]
    assert_array_equal(model.predict(chosen_of_polars), expected)


def test_names_of_several_types_are_refused_in_one_line(model: TangentRidge) -> None:
    mixed = FRAME.set_axis([1, "1", "a"], axis=1)
    for method in (model.predict, lambda X: ridge().fit(X, Y)):
        with refusal("must be all text or all numbers; got 1 and 'a'; rename") as found:
            method(mixed)
        assert isinstance(found.value, InputTypeError)
        assert "\n" not in str(found.value)


@pytest.mark.parametrize("what", ["X", "y", "auxiliary", "rows to predict"])
def test_a_lazy_table_of_polars_is_refused_without_a_warning(
    model: TangentRidge, what: str
) -> None:
    """Polars warns where the names of its columns are asked for."""
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame({"a": Y}).lazy()
    name = "X" if what == "rows to predict" else what
    given: dict[str, Any] = {"X": FRAME, "y": Y} | {name: lazy}
    message = f"{name} cannot be used: got a LazyFrame, .*; give {name}.collect"
    with warnings.catch_warnings(action="error"), refusal(message):
        if what == "rows to predict":
            model.predict(lazy)
        else:
            KerHRMRegressor(k=3).fit(**given)


def with_types() -> pd.DataFrame:
    """Numbers, dates, durations and text, and numbers some of which are missing."""
    days = pd.date_range("2024-01-01", periods=40)
    some = FRAME["b"].where(FRAME["b"] > 0)
    fields = np.where(FRAME["c"] > 0, "law", "care")
    columns = {"pay": FRAME["a"], "day": days, "some": some, "field": fields}
    stays = pd.to_timedelta(range(40), "h")
    return pd.DataFrame(columns | {"stay": stays})


EMPTY = {
    "None": None,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "NaT among objects": np.array([pd.NaT] * 40, dtype=object),
    "a zone": pd.Series([pd.NaT] * 40, dtype="datetime64[ns, UTC]"),
    "months": pd.Series([pd.NaT] * 40, dtype="period[M]"),
    "durations": np.full(40, "NaT", dtype="m8[s]"),
}


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("name", ["pay", "day", "stay"])
def test_a_column_that_later_rows_lack_is_told(name: str, empty: Any) -> None:
    """Its median would stand in all rows, and no column says so."""
    table = with_types()
    encoder = table_encoder().fit(table)
    median = encoder.transform(table)[name].median()
    joined = table.assign(**{name: empty})
    message = f"column '{name}' has no value, and all had one in the fit: its median"
    with pytest.warns(DataWarning, match=message) as caught:
        encoded = encoder.transform(joined)
    assert len(caught) == 1
    assert_array_equal(encoded[name], np.full(40, median))


def test_missing_values_that_the_fit_knows_or_some_rows_have_are_not_told() -> None:
    table = with_types()
    encoder = table_encoder().fit(table)
    half = table.copy()
    half.loc[:20, ["pay", "day"]] = None
    empty = table.assign(some=np.nan)
    with warnings.catch_warnings(action="error"):
        encoder.transform(half)
        encoded = encoder.transform(empty)
    assert (encoded["missingindicator_some"] == 1).all()
