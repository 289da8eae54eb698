"""A description of copies is that of their weights, and what its notes may say."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kerhrm import KerHRMRegressor
from kerhrm.description.result import Description

pytestmark = pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")

SMALL: dict[str, Any] = {"k": 3, "n_init": 4, "network": (16,), "random_state": 0}
COPIES = "are different: numbers of rows count these"
NUMBERS = "numbers of rows count these"


def described(
    X: Any, y: Any, *, changes: dict[str, Any] | None = None, **given: Any
) -> Description:
    parameters = SMALL | (changes or {})
    model = KerHRMRegressor(**parameters)
    model.fit(X, y, **given)
    return model.describe(stability=2)


def lines(description: Description) -> list[str]:
    """Its text, without labels of rows, and without lines on copies
    and weights."""
    told = []
    for line in str(description).splitlines():
        has_labels = line.startswith("environment ")
        if line and not has_labels and NUMBERS not in line:
            told.append(line)
    return told


def flipping(n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Two columns, and a slope that flips in a quarter of the rows."""
    random = np.random.default_rng(1)
    X = random.normal(size=(n, 2))
    is_turned = random.random(n) < 0.25
    slope = np.where(is_turned, -2, 2)
    noise = 0.3 * random.normal(size=n)
    y = X[:, 0] + slope * X[:, 1] + noise
    return X, y


def same_law(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Two columns, and no environment."""
    random = np.random.default_rng(3)
    X = random.normal(size=(n, 2))
    return X, X[:, 0] + random.normal(size=n)


def test_ten_copies_of_a_table_are_described_as_one() -> None:
    """Its dip, BIC, rules and intervals would else be those of ten times the rows."""
    X, y = same_law()
    single = described(X, y)
    ten_times_x = np.tile(X, (10, 1))
    ten_times_y = np.tile(y, 10)
    tenfold = described(ten_times_x, ten_times_y)
    assert not single.detected
    assert lines(tenfold) == lines(single)
    told = [note for note in tenfold.notes if COPIES in note]
    assert told[0].startswith("of 1200 rows 120 are different")
    assert not any(COPIES in note for note in single.notes)
    assert tenfold.memberships is not None
    assert single.memberships is not None
    ten_times = np.tile(single.memberships, (10, 1))
    assert_array_equal(tenfold.memberships, ten_times)


def test_detected_environments_of_repeated_rows_are_those_of_weights() -> None:
    X, y = flipping()
    random = np.random.default_rng(0)
    times = random.integers(1, 4, len(y))
    weighted = described(X, y, sample_weight=times)
    repeated_x = np.repeat(X, times, axis=0)
    repeated_y = np.repeat(y, times)
    repeated = described(repeated_x, repeated_y)
    assert weighted.detected
    assert weighted.split == "fit"
    assert lines(repeated) == lines(weighted)
    assert repeated.stability == weighted.stability


def test_equal_draws_of_categories_are_as_many_rows_as_they_weigh() -> None:
    random = np.random.default_rng(3)
    X = random.integers(0, 3, size=(300, 2)).astype(float)
    y = X[:, 0] + random.integers(0, 2, size=300)
    rows = np.column_stack([X, y])
    table, counts = np.unique(rows, axis=0, return_counts=True)
    drawn = described(X, y)
    different_x = table[:, :2]
    different_y = table[:, 2]
    weighted = described(different_x, different_y, sample_weight=counts)
    assert lines(weighted) == lines(drawn)
    assert weighted.stability == drawn.stability
    assert not any(NUMBERS in note for note in drawn.notes)
    stand_for = f"weights are whole numbers: {len(counts)} rows stand for 300, and "
    assert stand_for + NUMBERS in weighted.notes


def categories(n: int = 60) -> tuple[pd.DataFrame, pd.Series]:
    """Two columns of few values, and a slope that flips in three tenths of the rows."""
    random = np.random.default_rng(0)
    a = random.integers(0, 3, n)
    b = random.integers(0, 2, n)
    X = pd.DataFrame({"a": a, "b": b}).astype(float)
    slope = np.where(random.random(n) < 0.3, -2, 2)
    return X, X["a"] + slope * X["b"]


@pytest.mark.parametrize("whole", [True, False])
def test_rows_with_weights_are_named_once_and_are_not_more_than_there_are(
    whole: bool,
) -> None:
    X, y = categories()
    random = np.random.default_rng(1)
    weights = random.integers(50, 60, 60) if whole else random.uniform(0.1, 2, 60)
    anyway = {"pretest": False, "if_not_better": "fit"}
    description = described(X, y, sample_weight=weights, changes=anyway)
    assert description.certain is not None
    assert description.environments is not None
    for _, rows in description.certain.groupby("environment")["row"]:
        assert rows.is_unique
    n_counted = weights.sum() if whole else 60
    assert description.environments["rows"].sum() == n_counted


def test_a_repeated_row_is_as_clear_as_one_with_a_weight() -> None:
    X, y = flipping()
    rows = np.append(np.arange(150), np.repeat(35, 100))
    weights = np.bincount(rows)
    copied = described(X[rows], y[rows])
    weighted = described(X, y, sample_weight=weights)
    assert copied.environments is not None
    assert copied.environments.equals(weighted.environments)
    clear = copied.environments["clear"].to_numpy()
    assert ((clear > 0) & (clear < 1)).any()


def test_copies_beside_an_auxiliary_column_are_copies_within_its_values() -> None:
    X, _ = flipping(300)
    year = (np.arange(300) // 60).astype(float)
    turn = np.where(year == 3, -2, 2)
    y = X[:, 0] + turn * X[:, 1] + 0.3 * np.random.default_rng(2).normal(size=300)
    anyway = {"pretest": False, "if_not_better": "fit"}
    single = described(X, y, auxiliary=year, changes=anyway)
    twice_x = np.tile(X, (2, 1))
    twice_y = np.tile(y, 2)
    twice_year = np.tile(year, 2)
    doubled = described(twice_x, twice_y, auxiliary=twice_year, changes=anyway)
    assert single.split == "fit"
    assert lines(doubled) == lines(single)
    assert doubled.stability == single.stability


def refused_by_the_guard() -> tuple[pd.DataFrame, pd.Series]:
    """Environments that are detected, where KerHRM is no better than ERM."""
    random = np.random.default_rng(1)
    n = 120
    a = random.normal(size=n).round(3)
    b = random.normal(size=n).round(3)
    turn = np.where(random.random(n) < 0.25, -1, 1)
    y = (a + 2 * turn * b + 0.3 * random.normal(size=n)).round(3)
    return pd.DataFrame({"a": a, "b": b}), pd.Series(y)


def test_a_detected_split_was_not_out_of_sight() -> None:
    X, y = refused_by_the_guard()
    model = KerHRMRegressor(**SMALL, options={"margin": 1}).fit(X, y)
    assert model.predictor_ == "erm"
    found = model.describe(stability=0)
    assert found.detected
    assert found.split == "mixture"
    text = " ".join(found.notes)
    assert "may have missed" not in text
    assert "not a fifth" not in text


def test_what_the_test_misses_is_said_by_its_power() -> None:
    """The limit is that of a power of 80 %: below it a split may be seen as well."""
    X, y = same_law()
    text = " ".join(described(X, y).notes)
    assert "which the pre-test sees in 80 % of such tables: it may have missed" in text
    assert "could not have seen" not in text
    untested = " ".join(described(X, y, changes={"pretest": False}).notes)
    assert "pre-test" not in untested
