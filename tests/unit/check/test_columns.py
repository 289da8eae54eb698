"""What ``kerhrm check`` says of columns and targets, whatever their names and types."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kerhrm.check import check, oddities
from kerhrm.errors import KerhrmError

NAMES = ["all", "rows", "environment", "error", "_merge", "index", "level_0", "target"]
NAMES += ["group", "KerHRM", "constant", "missing", "0", "x", "missingindicator_a"]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_column_changes_another(name: str, plain: pd.DataFrame) -> None:
    column = pd.Series(["rows", "0", None, "f"] * 20)
    expected = check(plain.assign(z=column), "y", group="z").report
    found = check(plain.assign(**{name: column}), "y", group=name).report
    assert_array_equal(found.errors, expected.errors)
    assert found.errors.index.is_unique
    assert found.facts == expected.facts
    predicts = check(plain.assign(**{name: column}), "y")
    renamed = check(plain.assign(z=column), "y")
    assert_array_equal(predicts.X_test, renamed.X_test)
    assert predicts.X_test.columns.is_unique


def test_what_is_read_is_said_of_every_column(plain: pd.DataFrame) -> None:
    table = plain.astype({"a": str, "y": str}).assign(z=["x", "?"] * 40)
    table.loc[::20, "a"], table.loc[::16, "y"] = "?", "n/a"
    facts = check(table, "y", group="z").report.facts
    assert facts["column 'a'"] == "missing in 4 rows: '?'"
    assert facts["column 'y'"] == "missing in 5 rows: 'n/a'"
    assert facts["column 'z'"] == "missing in 40 rows: '?'"
    assert facts["left out"] == "5 rows without a target or auxiliary value"
    word = plain.astype({"y": str})
    word.loc[3, "y"] = "refused"
    with pytest.raises(ValueError, match="but not 'refused' in 1 row: leave such"):
        check(word, "y")


def test_a_code_of_missing_targets_and_auxiliary_values_is_said(
    plain: pd.DataFrame,
) -> None:
    table = plain.assign(z=np.arange(80) % 40 / 10)
    table.loc[::10, ["y", "z"]] = -9999
    facts = check(table, "y", auxiliary="z").report.facts
    for name in ("y", "z"):
        assert "-9999 stands apart" in facts[f"column {name!r}"]
    assert "column 'y'" not in check(plain, "y").report.facts


def test_dates_in_digits_are_said_of_auxiliary_columns(plain: pd.DataFrame) -> None:
    days = pd.date_range("2024-01-01", periods=80)
    table = plain.assign(c=days.strftime("%Y%m%d").astype(int))
    told = check(table, "y", auxiliary="c").report.facts["column 'c'"]
    assert told == "it looks like dates, as 20240101: --dates c"
    assert check(table, "y").report.facts["column 'c'"] == told
    text = plain.assign(c=days.astype(str).where(days.day != 3, "0000-00-00"))
    facts = check(text, "y").report.facts
    assert "but not '0000-00-00' in 3 rows" in facts["column 'c'"]
    with pytest.raises(ValueError, match="but not '0000-00-00' in 3 rows"):
        check(text, "y", auxiliary="c")
    with pytest.raises(ValueError, match="got dates or durations; give the days"):
        check(text, "c")
    told = check(table, "c").report.facts["column 'c'"]
    assert told == "it looks like dates, as 20240101: give the days since a first day"
    few = plain.assign(c=[*["2024-01-01", "2024-01-02", "2024-01-03", "soon"] * 20])
    with pytest.raises(
        ValueError, match=r"'c' must hold dates or cat.*not 'soon' in 20"
    ):
        check(few, "y", auxiliary="c")


def test_what_looks_alike_is_one_group_label_and_name(plain: pd.DataFrame) -> None:
    place = ["K\xf6ln", "Ko\u0308ln", "Bonn", "Bonn\u200b"] * 20
    table = plain.assign(**{"\ufeffpla\xf6": place}, y=plain["y"] > 0)
    for group in ("pla\xf6", "plao\u0308\u200b"):
        errors = check(table, "y\u2060", group=group).report.errors
        assert {"pla\xf6 K\xf6ln", "pla\xf6 Bonn"} < {*errors.index}
        assert not any("\u0308" in name or "\u200b" in name for name in errors.index)
    assert check(table, "pla\xf6").model.classes_.tolist() == ["Bonn", "K\xf6ln"]
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        check(plain.assign(**{"a\u200b": 1}), "y")


def test_whole_numbers_beyond_float64_are_categories(plain: pd.DataFrame) -> None:
    table = plain.assign(few=2**53 + np.arange(80) % 3, all=2**53 + np.arange(80))
    found = check(table, "y")
    assert "each is a category" in found.report.facts["column 'few'"]
    assert "identifier? --drop all" in found.report.facts["column 'all'"]
    assert {f"few_{2**53 + i}" for i in range(3)} < {*found.X_test}


def test_few_whole_numbers_may_be_classes(plain: pd.DataFrame) -> None:
    facts = check(plain.assign(y=np.arange(80) % 3), "y").report.facts
    told = "it is predicted as a number: if 0, 1, 2 are classes, merge them into two"
    assert facts["column 'y'"] == told
    assert (
        "column 'y'" not in check(plain.assign(y=np.arange(80) % 2), "y").report.facts
    )
    assert (
        "column 'y'" not in check(plain.assign(y=np.arange(80) % 9), "y").report.facts
    )


def test_a_constant_column_with_empty_cells_is_no_constant(plain: pd.DataFrame) -> None:
    table = plain.assign(c=["x", None] * 40, n=[1, np.nan] * 40, e=None, k=1)
    found = check(table, "y").report.facts
    told = "it is 'x', and empty in 40 rows; --drop c unless empty cells tell something"
    assert found["column 'c'"] == told
    assert found["column 'n'"].startswith("it is '1.0', and empty in 40 rows; --drop n")
    assert found["column 'e'"] == "it is empty; --drop e"
    assert found["column 'k'"] == "it is constant; --drop k"


def test_truth_values_predict_and_are_predicted(plain: pd.DataFrame) -> None:
    flag = pd.Series([True, False, True, None] * 20, dtype=object)
    found = check(plain.assign(flag=flag), "y")
    assert set(found.X_test["flag"]) == {0, 1}
    assert found.X_test["missingindicator_flag"].sum() > 0
    label = (plain["y"] > 0).astype(str).where(plain.index > 7)
    found = check(plain.assign(y=label), "y")
    assert found.model.classes_.tolist() == [False, True]
    assert found.report.facts["left out"].startswith("8 rows")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["x", "y", "z", "x"] * 20, "got 3 labels, 'x', 'y', 'z'; merge"),
        ([1] * 80, "has one value, '1', in all rows"),
        (pd.date_range("2020", periods=80).astype(str), "got dates or durations"),
        (pd.to_timedelta(range(80), "h"), "got dates or durations"),
        (2**60 + np.arange(80), r"whole numbers beyond 2\^53; subtract"),
    ],
)
def test_targets_that_are_refused(y: Any, message: str, plain: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=message):
        check(plain.assign(y=y), "y")


def test_types_of_columns_change_nothing(plain: pd.DataFrame) -> None:
    table = plain.assign(day=pd.date_range("2020", periods=80), code=list("abcd") * 20)
    expected = check(table, "y", group="code").report
    kinds = {"a": "Float64", "y": "Float64", "day": "datetime64[s]", "code": "string"}
    for other in (
        table.astype(kinds),
        table.astype({"code": "category", "a": object}),
        table.astype({"a": str, "b": str}),
        table.set_axis(["x"] * 80),
    ):
        found = check(other, "y", group="code").report
        pd.testing.assert_frame_equal(found.errors, expected.errors)
        assert found.facts == expected.facts


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
    told = dict(oddities(table, pd.Series(number)))
    assert {name for name, text in told.items() if "away" in text} == {"curve", "day"}
    told = dict(oddities(table, pd.Series(label)))
    assert {name for name, text in told.items() if "away" in text} == {"code", "sign"}
    tailed = np.append(number, 40.0)  # one row has most of the variance
    told = dict(oddities(pd.DataFrame({"x": tailed**3}), pd.Series(tailed)))
    assert "away" in told["x"]
    twice = pd.concat([table[["noise"]]] * 2)
    assert not dict(oddities(twice, pd.Series(np.tile(number, 2), twice.index)))


def test_a_single_name_is_one_column_and_none_is_none(plain: pd.DataFrame) -> None:
    several = check(plain.assign(size=1.0), "y", drop=["size"]).report
    single = check(plain.assign(size=1.0), "y", drop="size", auxiliary=None).report
    assert_array_equal(single.errors, several.errors)
    numbered = plain.rename(columns={"a": 3})
    assert list(check(numbered, "y", drop=3).X_test.columns) == ["b"]
    assert "3" in check(numbered, "y", drop=None).X_test.columns


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
    with pytest.raises(KerhrmError, match=re.escape(words)) as caught:
        check(**arguments)
    assert len(str(caught.value)) < 200


def test_a_state_is_drawn_from_once(plain: pd.DataFrame) -> None:
    state = np.random.RandomState(5)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    drawn = check(plain, "y", random_state=state)
    assert drawn.model.seed_ == seed
    expected = check(plain, "y", random_state=int(seed))
    assert_array_equal(drawn.X_test, expected.X_test)
