"""An auxiliary column of any type that pandas, NumPy and Python have."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm import KerHRMClassifier
from kerhrm.estimators import DataWarning

ANYWAY: dict[str, Any] = {"if_not_detected": "fit", "if_not_better": "fit"}
RANDOM = np.random.default_rng(0)
ORDER = RANDOM.permutation(300)
days_after = pd.to_timedelta(ORDER, "D")
first_day = pd.Timestamp("2020-01-01")
DAYS = pd.Series(first_day + days_after)
IN_PERIODS = DAYS.dt.to_period("D")
IN_SECONDS = DAYS.astype("datetime64[s]")
A_MILLENNIUM = np.timedelta64(365_000, "D")
#: columns in the same order, whatever they are stored as
SAME: dict[str, Any] = {
    "large": ORDER + 2**62,
    "largest": ORDER.astype("uint64") + np.uint64(2**63),
    "beyond 64 bits": [2**70 + int(place) for place in ORDER],
    "text": ORDER.astype(str),
    "nullable": pd.Series(ORDER).astype("Int64"),
    "nanoseconds": DAYS.astype("datetime64[ns]"),
    "seconds": IN_SECONDS,
    "a time zone": DAYS.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "days of Python": [day.date() for day in DAYS],
    "periods": IN_PERIODS,
    "periods of Python": IN_PERIODS.astype(object),
    "an index of periods": pd.PeriodIndex(DAYS, freq="D"),
    "periods beyond nanoseconds": IN_PERIODS + 365_000,
    "durations": DAYS - DAYS.min(),
    "far in the future": IN_SECONDS + A_MILLENNIUM,
}


VALIDATES = 15  #: a row that validates
#: a country's code, and its name, in another order
COUNTRY = np.array(["CH", "DE", "ES"])[ORDER % 3]
NAMED = np.array(["Switzerland", "Germany", "Spain"])[ORDER % 3]


def trained(column: Any) -> tuple[KerHRMClassifier, np.ndarray]:
    """A fit by an auxiliary column that tells which feature is spurious."""
    random = np.random.default_rng(1)
    y = random.choice([-1, 1], 300)
    is_early = ORDER < 150
    share = np.where(is_early, 0.99, 0.6)
    draws = random.random(300)
    agrees = draws < share
    noise = random.normal(size=300)
    stable = y + noise
    spurious = np.where(agrees, y, -y)
    x = np.column_stack([stable, spurious])
    model = KerHRMClassifier(network=(), k=3, random_state=0, **ANYWAY)
    model.fit(x, y, auxiliary=column)
    return model, x


@pytest.mark.parametrize("name", SAME)
def test_the_type_of_a_column_does_not_matter(name: str) -> None:
    expected, x = trained(ORDER)
    column = SAME[name]
    model, _ = trained(column)
    assert_array_equal(model.environment_proba_, expected.environment_proba_)
    first_rows = column[:5]
    proba = model.predict_environment_proba(x[:5], auxiliary=first_rows)
    expected_proba = expected.environment_proba_[:5]
    assert_array_equal(proba, expected_proba)


def test_a_date_is_a_date_in_any_unit_and_text_is_none() -> None:
    model, x = trained(DAYS.astype("datetime64[s]"))
    nanoseconds = DAYS.astype("datetime64[ns]")
    in_time_zone = DAYS.dt.tz_localize("UTC")
    for days in (nanoseconds, in_time_zone):
        proba = model.predict_environment_proba(x, auxiliary=days)
        assert_array_equal(proba, model.environment_proba_)

    text = DAYS.astype(str)
    with refusal("held dates in the fit; got categories"):
        model.predict_environment_proba(x, auxiliary=text)
    with refusal("held dates in the fit; got numbers"):
        model.predict_environment_proba(x, auxiliary=ORDER)


def test_periods_are_the_times_at_which_they_start() -> None:
    days = DAYS.dt.to_period("D")
    model, x = trained(days)
    proba = model.predict_environment_proba(x, auxiliary=DAYS)
    assert_array_equal(proba, model.environment_proba_)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("%Y-%m-%d", r"pd.to_datetime\(...\)"),
        ("%b %d, %Y", r"pd.to_datetime\(...\)"),
        ("%d.%m.%Y", r"pd.to_datetime\(..., dayfirst=True\)"),
        ("%m/%d/%Y", r"pd.to_datetime\(...\)"),
    ],
)
def test_dates_as_text_are_no_categories(written: str, hint: str) -> None:
    text = DAYS.dt.strftime(written)
    words = f"column 0 holds dates as text, as '.*'; convert it by {hint}, or by ast"
    with refusal(words):
        trained(text.to_numpy())
    read = pd.to_datetime(text, dayfirst="dayfirst" in hint)
    dates = read.to_numpy()
    assert (dates == DAYS.to_numpy()).all()
    is_early = ORDER < 150
    days = np.where(is_early, "01/02/2020", "03/04/2020")
    with refusal("dayfirst=True or False"):
        trained(days)
    months = np.where(is_early, "2020-01", "2020-07")
    categories = pd.Series(months).astype("category")
    model, _ = trained(categories)
    assert model.environment_proba_.any()


def test_categories_are_told_apart_by_type() -> None:
    pairs = (
        (1, "1"),
        (1, True),
        ("01", "1"),
        ("", "b"),
        (1, "a"),
    )
    for early, late in pairs:
        column = [early if place < 150 else late for place in ORDER]
        stored = pd.Series(column, dtype=object)
        model, x = trained(stored)
        assert model.environment_proba_.shape == (300, 2)
        proba = model.predict_environment_proba(x, auxiliary=column)
        assert_array_equal(proba, model.environment_proba_)


PLACES = np.where(ORDER % 2, "a", "b")
PAIR = pd.DataFrame({"time": ORDER, "place": PLACES})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda z: z[["place", "time"]], "give auxiliary\\[\\['time', 'place'\\]\\]"),
        (lambda z: z[["time"]], "has no column 'place', which the fit had"),
        (lambda z: z.assign(more=1), "column 'more' was not in the fit; leave it out"),
        (lambda z: z.rename(columns={"time": "day"}), "has no column 'time'"),
        (lambda z: z.to_numpy()[:, :1], "has 1 columns, but 2 in the fit"),
        (lambda z: z.iloc[::-1], "in another order than those of X"),
    ],
)
def test_columns_are_those_of_the_fit_by_name(change: Any, words: str) -> None:
    model, x = trained(PAIR)
    table = pd.DataFrame(x)
    changed = change(PAIR)
    with refusal(words):
        model.predict_environment_proba(table, auxiliary=changed)
    in_order = PAIR[["time", "place"]]
    proba = model.predict_environment_proba(table, auxiliary=in_order)
    assert_array_equal(proba, model.environment_proba_)
    unnamed = PAIR.to_numpy()
    with pytest.warns(DataWarning, match="have no names, here or in the fit"):
        proba = model.predict_environment_proba(table, auxiliary=unnamed)
    assert_array_equal(proba, model.environment_proba_)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([DAYS, np.zeros(300)], "auxiliary column 1 is constant; leave it out"),
        ([["x"] * 300, DAYS], "auxiliary column 0 is constant; leave it out"),
        ([ORDER, ORDER], "auxiliary column 1 says what auxiliary column 0 says; leave"),
        ([ORDER, 7 - 2 * ORDER], "column 1 says what auxiliary column 0 says; leave"),
        ([DAYS, ORDER % 2, IN_SECONDS], "column 2 says what auxiliary column 0 says"),
        ([COUNTRY, NAMED], "column 1 says what auxiliary column 0 says; leave one"),
        ([np.zeros(300)], "auxiliary column 0 is constant; leave it out"),
    ],
)
def test_columns_that_add_nothing_to_others_are_refused(
    columns: list[Any], message: str
) -> None:
    """Several columns are cut into other cells than one of them alone."""
    together = pd.DataFrame(dict(enumerate(columns)))
    with refusal(message):
        trained(together)


def test_names_of_columns_that_add_nothing_are_told() -> None:
    together = pd.DataFrame({"day": DAYS, "time": IN_SECONDS})
    with refusal("auxiliary column 'time' says what auxiliary column 'day' says"):
        trained(together)


def test_columns_that_share_enormous_values_alone_are_two_columns() -> None:
    """9999 and its like stand for missing values."""
    random = np.random.default_rng(0)
    u, v = random.random((2, 300))
    u[::50] = v[::50] = 1e12
    trained(pd.DataFrame({"u": u, "v": v}))
    with refusal("auxiliary column 'w' says what auxiliary column 'u' says"):
        trained(pd.DataFrame({"u": u, "v": v, "w": 3 - u / 7}))


def test_categories_that_differ_in_a_row_are_two_columns() -> None:
    region = NAMED.copy()
    region[0] = "Spain" if region[0] != "Spain" else "Germany"
    model, _ = trained(pd.DataFrame({"country": COUNTRY, "region": region}))
    assert hasattr(model, "environment_proba_")


@pytest.mark.parametrize(("name", "shown"), [("u", "'u'"), (None, "0")])
def test_a_column_that_varies_in_validation_rows_alone_is_told_so(
    name: str | None, shown: str
) -> None:
    column = pd.Series(np.ones(300), name=name)
    column[VALIDATES] = 2
    with refusal(f"auxiliary column {shown} is constant in the training rows"):
        trained(column)
