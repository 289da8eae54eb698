"""What ``kerhrm check`` says of columns and targets, whatever their names and types."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from refusals import refusal

from kerhrm.check import check, oddities, read_table

NAMES = [
    "all",
    "rows",
    "environment",
    "error",
    "_merge",
    "index",
    "level_0",
    "target",
    "group",
    "KerHRM",
    "constant",
    "missing",
    "0",
    "x",
    "missingindicator_a",
]


def facts_of(table: pd.DataFrame, target: str = "y", **options: Any) -> dict[str, str]:
    """What the report says of the rows and columns."""
    return check(table, target, **options).report.facts


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_column_changes_another(name: str, plain: pd.DataFrame) -> None:
    cells = ["rows", "0", None, "f"] * 20
    column = pd.Series(cells)
    named_z = plain.assign(z=column)
    named = plain.assign(**{name: column})
    expected = check(named_z, "y", group="z").report
    report = check(named, "y", group=name).report
    assert_array_equal(report.errors, expected.errors)
    assert report.errors.index.is_unique
    assert report.facts == expected.facts
    inputs = check(named, "y").X_test
    expected_inputs = check(named_z, "y").X_test
    assert_array_equal(inputs, expected_inputs)
    assert inputs.columns.is_unique


def test_what_is_read_is_said_of_every_column(plain: pd.DataFrame) -> None:
    as_text = plain.astype({"a": str, "y": str})
    words = ["x", "?"] * 40
    table = as_text.assign(z=words)
    table.loc[::20, "a"] = "?"
    table.loc[::16, "y"] = "n/a"
    facts = facts_of(table, group="z")
    assert facts["column 'a'"] == "missing in 4 rows: '?'"
    assert facts["column 'y'"] == "missing in 5 rows: 'n/a'"
    assert facts["column 'z'"] == "missing in 40 rows: '?'"
    assert facts["left out"] == "5 rows without a target"
    word = plain.astype({"y": str})
    word.loc[3, "y"] = "refused"
    with pytest.raises(ValueError, match="but not 'refused' in 1 row: leave such"):
        check(word, "y")


def test_notes_of_a_part_of_a_file_are_the_file_s(
    plain: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    plain.assign(z=["x", "?"] * 40).to_csv(path, index=False)
    table = read_table(path)
    assert facts_of(table)["column 'z'"].startswith("missing in 40 rows: '?'")
    part = facts_of(table.head(50))["column 'z'"]
    assert part.startswith("in the whole file missing in 40 rows: '?'")


def test_a_code_of_missing_targets_and_auxiliary_values_is_said(
    plain: pd.DataFrame,
) -> None:
    numbers = np.arange(80)
    z = numbers % 40 / 10
    table = plain.assign(z=z)
    table.loc[::10, ["y", "z"]] = -9999
    facts = facts_of(table, auxiliary="z")
    for name in ("y", "z"):
        message = facts[f"column {name!r}"]
        assert "-9999 stands apart" in message
    assert "column 'y'" not in facts_of(plain)


def test_words_that_may_be_one_are_said_whatever_a_column_is_for(
    plain: pd.DataFrame,
) -> None:
    words = ["Yes", "yes", "No", "No"] * 20
    table = plain.assign(z=words)
    said = "'Yes', 'yes' differ in case alone: write them alike if they are one"
    for options in ({}, {"group": "z"}, {"auxiliary": "z"}):
        assert facts_of(table, **options)["column 'z'"] == said
    labels = plain.assign(y=["Yes", "yes"] * 40)
    assert facts_of(labels)["column 'y'"] == said


def test_rows_that_may_sum_up_others_are_said(plain: pd.DataFrame) -> None:
    numbers = np.arange(80)
    places = pd.Series(numbers).map(lambda number: f"place {number}")
    places[79] = "Total"
    found = dict(oddities(plain[["a"]].assign(z=places), plain["y"]))
    assert found["z"].startswith("'Total' in 1 row: delete such rows if they sum up")
    assert "differs in every row" in found["z"]


def test_an_auxiliary_column_of_almost_numbers_is_said(plain: pd.DataFrame) -> None:
    table = plain.assign(z=["1", "2", "3", "many"] * 20)
    facts = facts_of(table, auxiliary="z")
    assert "like numbers, but not 'many' in 20 rows" in facts["column 'z'"]


@pytest.mark.parametrize("code", ["0001-01-01", "1900-01-01", "9999-12-31 23:59:59"])
def test_a_date_that_may_mean_missing_is_said(code: str, plain: pd.DataFrame) -> None:
    days = pd.date_range("2020-01-01", periods=80, unit="s").to_series(index=range(80))
    days[::8] = pd.Timestamp(code)
    said = f"{code[:10]} stands apart: does it mean missing? leave such cells empty"
    features = plain[["a"]].assign(day=days)
    assert dict(oddities(features, plain["y"]))["day"] == said
    facts = facts_of(plain.assign(day=days), auxiliary="day")
    assert facts["column 'day'"] == said
    days[1:] = pd.Timestamp("2020-01-01")
    once = plain[["a"]].assign(day=days)
    assert "day" not in dict(oddities(once, plain["y"]))


def test_dates_in_digits_are_said_of_auxiliary_columns(plain: pd.DataFrame) -> None:
    days = pd.date_range("2024-01-01", periods=80)
    in_digits = days.strftime("%Y%m%d").astype(int)
    table = plain.assign(c=in_digits)
    message = "it looks like dates, as 20240101: --dates c"
    assert facts_of(table, auxiliary="c")["column 'c'"] == message
    assert facts_of(table)["column 'c'"] == message

    text_of_days = days.astype(str)
    some_zero = text_of_days.where(days.day != 3, "0000-00-00")
    text = plain.assign(c=some_zero)
    message = facts_of(text)["column 'c'"]
    assert "but not '0000-00-00' in 3 rows" in message
    with pytest.raises(ValueError, match="but not '0000-00-00' in 3 rows"):
        check(text, "y", auxiliary="c")
    with pytest.raises(ValueError, match="got dates; give the days"):
        check(text, "c")

    message = facts_of(table, "c")["column 'c'"]
    expected = "it looks like dates, as 20240101: give the days since a first day"
    assert message == expected

    three_days = ["2024-01-01", "2024-01-02", "2024-01-03"]
    cells = [*three_days, "soon"] * 20
    few = plain.assign(c=cells)
    refused = r"'c' must hold dates or cat.*not 'soon' in 20"
    with pytest.raises(ValueError, match=refused):
        check(few, "y", auxiliary="c")


def test_what_looks_alike_is_one_group_label_and_name(plain: pd.DataFrame) -> None:
    place = ["K\xf6ln", "Ko\u0308ln", "Bonn", "Bonn\u200b"] * 20
    is_positive = plain["y"] > 0
    table = plain.assign(**{"\ufeffpla\xf6": place}, y=is_positive)
    for group in ("pla\xf6", "plao\u0308\u200b"):
        checked = check(table, "y\u2060", group=group)
        report = checked.report
        names = report.errors.index
        assert {"pla\xf6 K\xf6ln", "pla\xf6 Bonn"} < set(names)
        text = " ".join(names)
        assert "\u0308" not in text
        assert "\u200b" not in text
    checked = check(table, "pla\xf6")
    model = checked.model
    assert model.classes_.tolist() == ["Bonn", "K\xf6ln"]
    looks_alike = plain.assign(**{"a\u200b": 1})
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        check(looks_alike, "y")


def test_whole_numbers_beyond_float64_are_categories(plain: pd.DataFrame) -> None:
    beyond = 2**53
    rows = np.arange(80)
    few_values = beyond + rows % 3
    table = plain.assign(few=few_values, all=beyond + rows)
    checked = check(table, "y")
    facts = checked.report.facts
    assert "each is a category" in facts["column 'few'"]
    assert facts["column 'all'"].startswith("left out: its text differs in nearly")
    assert not any(name.startswith("all") for name in checked.X_test)
    categories = {f"few_{beyond + i}" for i in range(3)}
    assert categories < set(checked.X_test)


def test_few_whole_numbers_may_be_classes(plain: pd.DataFrame) -> None:
    rows = np.arange(80)
    three = plain.assign(y=rows % 3)
    message = "it is predicted as a number: if 0, 1, 2 are classes, merge them into two"
    assert facts_of(three)["column 'y'"] == message
    two = plain.assign(y=rows % 2)
    assert "column 'y'" not in facts_of(two)
    nine = plain.assign(y=rows % 9)
    assert "column 'y'" not in facts_of(nine)


def test_a_constant_column_with_empty_cells_is_no_constant(plain: pd.DataFrame) -> None:
    words = ["x", None] * 40
    numbers = [1, np.nan] * 40
    table = plain.assign(c=words, n=numbers, e=None, k=1)
    facts = facts_of(table)
    message = (
        "it is 'x', and empty in 40 rows; --drop c unless empty cells tell something"
    )
    assert facts["column 'c'"] == message
    message = "it is '1.0', and empty in 40 rows; --drop n"
    assert facts["column 'n'"].startswith(message)
    assert facts["column 'e'"] == "it is empty; --drop e"
    assert facts["column 'k'"] == "it is constant; --drop k"


def test_truth_values_predict_and_are_predicted(plain: pd.DataFrame) -> None:
    cells = [True, False, True, None] * 20
    flag = pd.Series(cells, dtype=object)
    flagged = plain.assign(flag=flag)
    inputs = check(flagged, "y").X_test
    assert set(inputs["flag"]) == {0, 1}
    is_missing = inputs["missingindicator_flag"]
    assert is_missing.sum() > 0

    is_positive = plain["y"] > 0
    is_positive = is_positive.astype(str)
    label = is_positive.where(plain.index > 7)
    labelled = plain.assign(y=label)
    checked = check(labelled, "y")
    classes = checked.model.classes_
    assert list(classes) == [False, True]
    message = checked.report.facts["left out"]
    assert message.startswith("8 rows")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["x", "y", "z", "x"] * 20, "got 3 labels, 'x', 'y', 'z'; merge"),
        ([1] * 80, "has one value, '1', in all rows"),
        (
            ["x", None] * 40,
            "one value, 'x', and is empty in 40 rows; write the other l",
        ),
        (["Yes", "yes", "No", "No"] * 20, "3 labels.*; 'Yes', 'yes' differ in case al"),
        ([None] * 80, "^0 of 80 rows have a target; give 20 such rows or more"),
        (pd.date_range("2020", periods=80).astype(str), "got dates; give the days"),
        (pd.to_timedelta(range(80), "h"), "got durations; give them in one unit"),
        (2**60 + np.arange(80), "'y' has whole numbers beyond 2.53, .*; subtract th"),
        (2**53 + 2 * np.arange(80), "'y' has whole numbers beyond 2.53"),
    ],
)
def test_targets_that_are_refused(y: Any, message: str, plain: pd.DataFrame) -> None:
    table = plain.assign(y=y)
    with pytest.raises(ValueError, match=message):
        check(table, "y")


def test_labels_and_groups_may_be_any_whole_numbers(plain: pd.DataFrame) -> None:
    numbers = np.arange(80)
    labels = 2**63 + numbers.astype(np.uint64) % 2
    groups = 10**17 + numbers % 3
    two = check(plain.assign(y=labels, g=groups), "y", group="g")
    assert {*two.y_test} <= {"9223372036854775808", "9223372036854775809"}
    with refusal("'y' has whole numbers beyond 2.53"):
        check(plain.assign(y=labels), "y", task="regression")
    with refusal("'y' has 80 values, and a classification needs two"):
        check(plain.assign(y=2**60 + numbers), "y", task="classification")


def test_types_of_columns_change_nothing(plain: pd.DataFrame) -> None:
    days = pd.date_range("2020", periods=80)
    codes = ["a", "b", "c", "d"] * 20
    table = plain.assign(day=days, code=codes)
    checked = check(table, "y", group="code")
    expected = checked.report
    kinds = {"a": "Float64", "y": "Float64", "day": "datetime64[s]", "code": "string"}
    for other in (
        table.astype(kinds),
        table.astype({"code": "category", "a": object}),
        table.astype({"a": str, "b": str}),
        table.set_axis(["x"] * 80),
    ):
        checked = check(other, "y", group="code")
        report = checked.report
        assert_frame_equal(report.errors, expected.errors)
        assert report.facts == expected.facts


def giving_away(table: pd.DataFrame, target: np.ndarray) -> set[str]:
    """Columns that are said to give the target away."""
    target_of_rows = pd.Series(target)
    found = oddities(table, target_of_rows)
    messages = dict(found)
    return {name for name, message in messages.items() if "away" in message}


def test_columns_that_give_the_target_away() -> None:
    random = np.random.default_rng(0)
    n = 200
    number = random.normal(size=n)
    label = random.integers(2, size=n)
    table = pd.DataFrame(
        {
            "noise": random.normal(size=n),
            "curve": np.exp(number),
            "code": np.where(label == 1, "p", "q"),
            "sign": label + 0.1 * random.normal(size=n),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(number, "D"),
        }
    )
    assert giving_away(table, number) == {"curve", "day"}
    assert giving_away(table, label) == {"code", "sign"}

    tailed = np.append(number, 40.0)  # one row has most of the variance
    cubes = tailed**3
    cubed = pd.DataFrame({"x": cubes})
    assert giving_away(cubed, tailed) == {"x"}

    noise = table[["noise"]]
    twice = pd.concat([noise, noise])
    number_twice = np.tile(number, 2)
    target_twice = pd.Series(number_twice, twice.index)
    found = oddities(twice, target_twice)
    assert not dict(found)


def test_a_single_name_is_one_column_and_none_is_none(plain: pd.DataFrame) -> None:
    table = plain.assign(size=1.0)
    several = check(table, "y", drop=["size"])
    single = check(table, "y", drop="size", auxiliary=None)
    errors = single.report.errors
    assert_array_equal(errors, several.report.errors)

    numbered = plain.rename(columns={"a": 3})
    without_3 = check(numbered, "y", drop=3).X_test
    with_3 = check(numbered, "y", drop=None).X_test
    assert without_3.columns.tolist() == ["b"]
    assert "3" in with_3.columns


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"table": "t.csv"}, "table must be a DataFrame; got str; read a file by kerh"),
        ({"table": [[1, 2]]}, "table must be a DataFrame; got list; use pandas.DataF"),
        ({"target": None}, "target must be the name of a column; got None; give targ"),
        ({"target": ["y"]}, "target must be the name of a column; got ['y']; give ta"),
        ({"group": ["a"]}, "group must be the name of a column; got ['a']; give group"),
        ({"drop": [["a"]]}, "drop must be the name of a column; got ['a']; give drop="),
        ({"auxiliary": np.eye(2)}, "auxiliary must be the name of a column; got arr"),
        ({"auxiliary": 3}, "column '3' does not exist; known are: a, b, y"),
        ({"random_state": "x"}, "random_state must be a whole number, a numpy Rando"),
        ({"random_state": -1}, "random_state must be at least 0 and below 2^32; got"),
        ({"n_environments": "x"}, "n_environments='x': must be a valid integer"),
    ],
)
def test_an_argument_of_another_kind_is_refused(
    given: dict[str, Any], words: str, plain: pd.DataFrame
) -> None:
    arguments = {"table": plain, "target": "y"} | given
    pattern = re.escape(words)
    with refusal(pattern) as caught:
        check(**arguments)
    message = str(caught.value)
    assert len(message) < 200


def test_a_state_is_drawn_from_once(plain: pd.DataFrame) -> None:
    state = np.random.RandomState(5)
    same_state = np.random.RandomState(5)
    seed = same_state.randint(2**31 - 1)
    drawn = check(plain, "y", random_state=state)
    assert drawn.model.seed_ == seed
    expected = check(plain, "y", random_state=int(seed))
    assert_array_equal(drawn.X_test, expected.X_test)
