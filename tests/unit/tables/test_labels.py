"""Environments and groups with labels of any kind: two are never one."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from refusals import refusal

from kerhrm import IRM, KerHRMClassifier, KerHRMRegressor, worst_group_score
from kerhrm.estimators._report import indicators
from kerhrm.tables.labels import Labels, in_category_order, read_labels

HALVES = np.arange(60) % 2
TIME = pd.Timestamp("2020-01-01")
NEXT_YEAR = TIME.replace(year=2021)
YEARS = pd.Series([TIME, NEXT_YEAR] * 30)
A_AND_B = ["a", "b"] * 30
B_BEFORE_A = pd.Categorical(A_AND_B, categories=["b", "a"])
MONTHS = pd.PeriodIndex(["2020-01", "2020-02"] * 30, freq="M")
PAIRS = [("a", 0), ("a", 1)] * 30
#: labels of the rows, and the names of both
TWO: dict[str, tuple[Any, list[str]]] = {
    "numbers": (HALVES, ["0", "1"]),
    "a list": (HALVES.tolist(), ["0", "1"]),
    "text": (np.where(HALVES, "b", "a"), ["a", "b"]),
    "numbers and text": ([1, "A"] * 30, ["1", "A"]),
    "nullable numbers": (pd.Series(HALVES).astype("Int64"), ["0", "1"]),
    "truth values": (HALVES > 0, ["False", "True"]),
    "a truth value and a number": ([1, True] * 30, ["1", "True"]),
    "tuples": (PAIRS, ["('a', 0)", "('a', 1)"]),
    "dates": (YEARS.dt.date, None),
    "months": (MONTHS, None),
    "bytes": ([b"a", b"b"] * 30, ["b'a'", "b'b'"]),
    "an empty text": (["", "b"] * 30, ["''", "b"]),
    "a category": (B_BEFORE_A, ["a", "b"]),
    "an index": (pd.Index(HALVES), ["0", "1"]),
    "one column": (pd.DataFrame({"e": HALVES}), ["0", "1"]),
}
#: labels that are refused, and why
MASKED = np.ma.array(HALVES, mask=HALVES > 0)
MASKED_TEXT = np.ma.array(A_AND_B, mask=HALVES)
NA_AND_NUMBER = pd.Series([pd.NA, 1] * 30, dtype="Int64")
WITH_LISTS = [(1, [2]), (1, [3])] * 30
REFUSED: dict[str, tuple[Any, str]] = {
    "a number and its text": ([1, "1"] * 30, "1 and '1' have the same name, 1"),
    "a truth value and its text": ([True, "True"] * 30, "the same name, True"),
    "a date and its text": ([TIME, str(TIME)] * 30, "have the same name, 2020"),
    "a blank": (["a", "a "] * 30, r"'a' and 'a ' have the same name, a; .*str.strip"),
    "a sign unseen": (["a", "a\u200b"] * 30, r"'a' and 'a\\u200b' have the same name"),
    "None": ([None, "a"] * 30, "are missing in 30 rows, the first is row 0"),
    "NaN": ([np.nan, 1.0] * 30, "are missing in 30 rows"),
    "NA": (NA_AND_NUMBER, "in 30 rows, the first is index"),
    "NaT": (pd.Series([pd.NaT, TIME] * 30), "are missing in 30 rows"),
    "a mask": (MASKED, "are missing in 30 rows"),
    "a mask of text": (MASKED_TEXT, "missing in 30 rows"),
    "lists": ([[1], [2]] * 30, r"must be numbers, text or dates; got \[1\]"),
    "tuples with lists": (WITH_LISTS, "must be numbers, text or dates"),
    "a table": (np.zeros((60, 2)), r"must be a column .* got ndarray of shape \(60, 2"),
    "a number": (3, "must be a column of numbers or labels; got int"),
    "a set": ({1, 2}, "must be a column of numbers or labels; got set"),
    "too few": (HALVES[:-1], r"have shape \(59,\) for 60 rows"),
}


def labels_of(groups: Any, n: int = 60) -> Labels:
    """Groups of n rows."""
    return read_labels(groups, n, "groups")


@pytest.mark.parametrize("name", TWO)
def test_two_labels_of_any_kind_are_two(name: str) -> None:
    given, names = TWO[name]
    labels = labels_of(given)
    assert len(labels.names) == 2
    assert names is None or labels.names == names
    # either one may come first
    expected = HALVES
    if labels.codes[0] != 0:
        expected = 1 - HALVES
    assert_array_equal(labels.codes, expected)
    second = labels.members(1)
    assert second.sum() == 30


@pytest.mark.parametrize("name", REFUSED)
def test_labels_that_are_refused(name: str) -> None:
    given, words = REFUSED[name]
    with refusal(words) as caught:
        labels_of(given)
    assert "\n" not in str(caught.value)


def test_a_hint_is_followed() -> None:
    groups = [1, "1"]
    hint = r"pd\.Series\(groups\)\.astype\(str\)"
    with refusal(hint):
        labels_of(groups, 2)
    followed = pd.Series(groups).astype(str)
    labels = labels_of(followed, 2)
    assert labels.names == ["1"]


def test_equal_numbers_are_one_label_and_numbers_are_in_their_order() -> None:
    labels = labels_of([1, 1.0, "a"], 3)
    assert labels.names == ["1", "a"]
    labels = labels_of([10, 2, 2.0], 3)
    assert labels.codes.tolist() == [1, 0, 0]
    labels = labels_of([1.0, 1, "a"], 3)
    assert labels.codes.tolist() == [0, 0, 1]


def test_categories_keep_their_order_in_a_picture() -> None:
    kind = pd.CategoricalDtype(["S", "M", "L"])
    sizes = pd.Series(["S", "L"], dtype=kind)
    labels = labels_of(sizes, 2)
    names = labels.names
    assert names == ["L", "S"]
    assert in_category_order(sizes, names) == ["S", "L"]


@pytest.mark.parametrize(
    ("name", "label", "expected"),
    [
        (None, "a", "group a"),
        ("", "a", "group a"),
        ("all", "rows", "group all rows"),
        ("environment", 0, "group environment 0"),
        (0, "a", "0 a"),
    ],
)
def test_a_group_s_row_has_a_name_of_its_own(
    name: Any, label: Any, expected: str
) -> None:
    """Rows of the report are called ``all rows`` and ``environment 0``."""
    groups = pd.Series([label] * 3, name=name, dtype=object)
    taken = {"all rows", "environment 0"}
    rows = indicators(groups, 3, taken=taken)
    assert list(rows) == [expected]
    assert rows[expected].sum() == 3


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns, and the first again as the target."""
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    frame = pd.DataFrame(x, columns=["a", "b"])
    return frame, x[:, 0]


def test_environments_are_trained_on_whatever_they_are_called(table: Any) -> None:
    x, y = table
    model = IRM(task="regression", network=(4,), steps=3, random_state=0)
    model.fit(x, y, environments=HALVES)
    expected = model.predict(x)
    givens = {name: given for name, (given, _) in TWO.items()}
    for name, given in givens.items():
        model.fit(x, y, environments=given)
        outputs = model.predict(x)
        assert_array_equal(outputs, expected, err_msg=name)


@pytest.mark.filterwarnings("ignore::kerhrm.estimators.KerhrmWarning")
def test_rows_of_another_order_are_refused(table: Any) -> None:
    x, y = table
    small: dict[str, Any] = {
        "k": 2,
        "n_init": 1,
        "network": (4,),
    }
    model = KerHRMRegressor(**small, random_state=0)
    model.fit(x, y)

    groups = pd.Series(HALVES, index=x.index, name="half")
    expected = model.report(x, y, groups).errors
    turned = groups.iloc[::-1]
    hint = r"give groups\.loc\[X\.index\], or groups\.to_numpy\(\)"
    with refusal(hint):
        model.report(x, y, turned)
    followed = turned.loc[x.index]
    errors = model.report(x, y, followed).errors
    assert_frame_equal(errors, expected)
    # an index that is none of the rows': by position
    other = groups.set_axis(range(100, 160))
    errors = model.report(x, y, other).errors
    assert_frame_equal(errors, expected)

    score = model.score(x, y)
    targets = pd.Series(y, index=x.index)
    assert model.score(x, targets) == score
    in_another_order = targets.iloc[::-1]
    with refusal("another order"):
        model.score(x, in_another_order)

    signs = np.sign(targets)
    labels = KerHRMClassifier(**small)
    labels.fit(x, signs)
    is_positive = targets > 0
    others = is_positive.astype(int)
    with refusal("was not among those of the fit"):
        labels.score(x, others)


def test_the_worst_group_of_mixed_labels(table: Any) -> None:
    x, y = table

    class Zero:
        def predict(self, x: pd.DataFrame) -> np.ndarray:
            return np.zeros(len(x))

    def negative_error(model: Any, x: pd.DataFrame, y: np.ndarray) -> float:
        residuals = model.predict(x) - y
        return -float(np.mean(residuals**2))

    def undefined(model: Any, x: pd.DataFrame, y: np.ndarray) -> float:
        return float("nan")

    zero = Zero()
    names = ["A" if half else 1 for half in HALVES]
    groups = pd.Series(names, dtype=object)
    errors = []
    for half in (0, 1):
        of_half = y[half == HALVES]
        errors.append(np.mean(of_half**2))
    score = worst_group_score(groups, negative_error)
    worst = -max(errors)
    score_of_zero = score(zero, x, y)
    assert score_of_zero == pytest.approx(worst)
    nothing = worst_group_score(groups, undefined)
    assert np.isnan(nothing(zero, x, y))

    alike = pd.Series([1, "1"])
    with refusal("1 and '1' have the same name"):
        worst_group_score(alike)
    with refusal("no scoring is called 'accuraccy'; did you"):
        worst_group_score(groups, "accuraccy")
    with refusal("scoring must be a name"):
        worst_group_score(groups, 3)  # type: ignore[arg-type]
