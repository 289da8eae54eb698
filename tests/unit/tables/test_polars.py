"""Tables of polars give what those of pandas give, and are refused in one line."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from refusals import refusal

from kerhrm import IRM, KerHRMRegressor, TangentRidge, table_encoder
from kerhrm.check import check
from kerhrm.tables.polars import of_pandas

pl = pytest.importorskip("polars")

N = 60
RANDOM = np.random.default_rng(0)
FIRST_DAY = dt.date(2020, 1, 1)
DAYS = [FIRST_DAY + dt.timedelta(days) for days in range(N)]
CELLS: dict[str, Any] = {
    "number": RANDOM.normal(size=N),
    "count": [None, *range(N - 1)],
    "truth": [True, False, None] * (N // 3),
    "text": ["law", "care", None] * (N // 3),
    "day": DAYS,
    "since": [dt.timedelta(days=number) for number in range(N)],
}


@pytest.fixture
def tables() -> tuple[Any, pd.DataFrame]:
    frame = pd.DataFrame(CELLS)
    frame["count"] = frame["count"].astype("Int64")
    frame["truth"] = frame["truth"].astype("boolean")
    frame["day"] = pd.to_datetime(frame["day"])
    return pl.DataFrame(CELLS), frame


def test_every_kind_of_column_is_encoded_alike(tables: Any) -> None:
    given, expected = tables
    encoder = table_encoder().fit(given)
    encoded = encoder.transform(given)
    expected_encoding = table_encoder().fit_transform(expected)
    assert_frame_equal(encoded, expected_encoding)
    encoder.set_output(transform="polars")
    frame = encoder.transform(given)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == encoder.get_feature_names_out().tolist()


def test_decimals_times_and_categories() -> None:
    numbers = pl.Series([1.5, 2.5, None])
    letters = ["a", "b", None]
    noon = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    given = pl.DataFrame(
        {
            "decimal": numbers.cast(pl.Decimal(10, 2)),
            "time": [dt.time(1, 2), None, dt.time(3, 4)],
            "kind": pl.Series(letters, dtype=pl.Categorical),
            "bytes": [b"x", b"y", None],
            "zone": [noon] * 3,
        }
    )
    frame = of_pandas(given)
    assert_array_equal(frame["decimal"], [1.5, 2.5, np.nan])
    assert frame["time"].tolist() == ["01:02:00", None, "03:04:00"]
    assert frame["kind"].tolist() == letters
    assert frame["bytes"].tolist() == ["x", "y", None]
    zones = frame["zone"]
    first = zones.iloc[0]
    assert first == pd.Timestamp("2020-01-01")


def test_a_check_reads_it_alike(tables: Any) -> None:
    given, expected = tables
    y = RANDOM.normal(size=N)
    of_polars = given.with_columns(y=y)
    of_pandas = expected.assign(y=y)
    first = check(of_polars, "y").report
    second = check(of_pandas, "y").report
    assert_frame_equal(first.errors, second.errors)


@pytest.mark.parametrize("cells", [[[1], [2]], [{"q": 1}, {"q": 2}]])
def test_lists_and_records_are_refused_in_one_line(cells: Any) -> None:
    given = pl.DataFrame({"a": [1.0, 2.0], "b": cells})
    told = r"column 'b' of .* has cells of type .*; drop it, or make a column"
    for use in (
        lambda: table_encoder().fit(given),
        lambda: TangentRidge().fit(given, [1.0, 2.0]),
        lambda: check(given, "a"),
    ):
        with refusal(told) as caught:
            use()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_whole_numbers_of_128_bits_are_refused_wherever_they_stand(kind: str) -> None:
    if not hasattr(pl, kind):
        pytest.skip("this polars has no such type")
    rows = np.column_stack([np.arange(4.0), np.arange(4.0) % 2])
    wide = pl.Series("b", [1, 2, 3, 4], dtype=getattr(pl, kind))
    table = pl.DataFrame({"a": [1.0, 2.0, 3.0, 5.0], "b": wide})
    model = TangentRidge(task="regression", network=())
    given = IRM(task="regression", network=())
    fit = KerHRMRegressor().fit
    told = f"column 'b' of .* has cells of type {kind}; cast it to pl.Int64"
    for use in (
        lambda: model.fit(table, rows[:, 0]),
        lambda: model.fit(rows, wide),
        lambda: model.fit(rows, rows[:, 0], sample_weight=wide),
        lambda: given.fit(rows, rows[:, 0], environments=wide),
        lambda: fit(rows, rows[:, 0], auxiliary=wide),
        lambda: fit(rows, rows[:, 0], auxiliary=table),
        lambda: table_encoder().fit(table),
        lambda: check(table, "a"),
    ):
        with refusal(told):
            use()


def test_times_of_day_are_no_features_of_polars_either() -> None:
    times = [dt.time(hour) for hour in range(4)]
    cells = {"a": [1.0, 2.0, 3.0, 5.0], "b": times}
    told = "column 'b' must hold numbers; got '00:00:00'"
    for table in (pd.DataFrame(cells), pl.DataFrame(cells)):
        with refusal(told):
            TangentRidge(task="regression").fit(table, np.arange(4.0))
