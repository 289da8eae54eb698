"""How ``kerhrm check`` splits rows: copies, rows of one unit, groups and labels of
one row."""

import warnings

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from refusals import refusal

from kerhrm.check import check
from kerhrm.check.facts import LEFT_OUT
from kerhrm.tables.columns import columns_that_name_rows


def with_yes_in(rows: np.ndarray, table: pd.DataFrame) -> pd.DataFrame:
    """The table with label ``yes`` where ``rows`` (n,) is true, ``no`` elsewhere."""
    labels = np.where(rows, "yes", "no")
    return table.assign(y=labels)


def test_a_label_that_no_test_row_has_is_said(plain: pd.DataFrame) -> None:
    checked = check(plain, "y")
    tested = checked.X_test.index
    trained = plain.index.difference(tested)

    is_first = plain.index == trained[0]
    yes_in_training = with_yes_in(is_first, plain)
    checked = check(yes_in_training, "y")
    message = checked.report.facts["column 'y'"]
    expected = "'yes' stands in 1 row, none of which tests: the errors say"
    assert message.startswith(expected)

    is_first_tested = plain.index == tested[0]
    yes_in_test = with_yes_in(is_first_tested, plain)
    with refusal("'y' is 'no' in all training rows; give"):
        check(yes_in_test, "y")

    in_two_rows = plain.index < 2
    yes_twice = with_yes_in(in_two_rows, plain)
    checked = check(yes_twice, "y")
    facts = checked.report.facts
    assert "column 'y'" not in facts


def test_an_auxiliary_value_that_no_training_row_has_is_said(
    plain: pd.DataFrame,
) -> None:
    checked = check(plain, "y")
    tested = plain.index.isin(checked.X_test.index[:2])
    categories = np.where(tested, "b", "a")
    table = plain.assign(place=categories)
    with refusal("auxiliary column 'place' is 'a' in all training rows; give more"):
        check(table, "y", auxiliary="place")


def test_two_labels_may_be_any_numbers(plain: pd.DataFrame) -> None:
    """scikit-learn takes 1.5 and 2.5 for the numbers of a regression."""
    is_first = np.arange(80) % 3 == 0
    labels = np.where(is_first, 1.5, 2.5)
    table = plain.assign(y=labels)
    checked = check(table, "y")
    assert list(checked.model.classes_) == ["1.5", "2.5"]
    as_text = check(table.astype({"y": str}), "y")
    assert checked.report.errors.equals(as_text.report.errors)


def test_numbers_that_vary_in_no_training_row_are_refused(plain: pd.DataFrame) -> None:
    checked = check(plain, "y")
    tested = plain.index.isin(checked.X_test.index)
    numbers = np.where(tested, plain.index, 0)
    with refusal("the target 'y' is 0 in all training rows; give more rows with other"):
        check(plain.assign(y=numbers), "y")


def test_groups_of_one_row_are_said(plain: pd.DataFrame) -> None:
    persons = [f"p{i}" for i in range(80)]
    pairs = np.arange(80) // 2
    table = plain.assign(who=persons, pair=pairs)

    checked = check(table, "y", group="who")
    facts_by_person = checked.report.facts
    message = facts_by_person["column 'who'"]
    assert "every test row is a group of its own" in message

    checked = check(table, "y", group="pair")
    facts_by_pair = checked.report.facts
    assert "column 'pair'" not in facts_by_pair


def assert_copies_stay_together(table: pd.DataFrame, n_copies: int) -> None:
    """The split reports the copies, and no target is on both sides."""
    checked = check(table, "y")
    message = checked.report.facts["copies"]
    assert message.startswith(f"{n_copies} rows occur more than once; all copies")

    n_tested = len(checked.y_test)
    targets_tested = set(checked.y_test)
    in_training = ~table["y"].isin(targets_tested)
    assert in_training.sum() + n_tested == len(table)
    assert 0.2 < n_tested / len(table) < 0.4


def test_copies_of_rows_are_on_one_side_of_the_split(plain: pd.DataFrame) -> None:
    first_rows = plain.iloc[:30]
    some_twice = pd.concat([plain, first_rows], ignore_index=True)
    assert_copies_stay_together(some_twice, n_copies=60)

    with_letters = plain.assign(c=["p", "q"] * 40)
    all_thrice = pd.concat([with_letters] * 3)
    assert_copies_stay_together(all_thrice, n_copies=240)

    is_positive = plain["y"] > 0
    labels = np.where(is_positive, "p", "q")
    labelled = plain.assign(y=labels)
    labelled_twice = pd.concat([labelled] * 2)
    checked = check(labelled_twice, "y")
    tested = checked.X_test["a"]
    assert tested.nunique() * 2 == len(tested)


def test_rows_that_differ_in_the_target_alone_are_on_one_side() -> None:
    random = np.random.default_rng(0)
    numbers = np.arange(40)
    unit = np.repeat(numbers, 4)
    inputs = random.normal(size=(40, 3))
    of_units = pd.DataFrame(inputs, columns=["a", "b", "c"])
    table = of_units.iloc[unit]
    targets = random.normal(size=40)
    unit_target = targets[unit]
    noise = 0.1 * random.normal(size=160)
    table["y"] = unit_target + noise

    checked = check(table, "y")
    facts = checked.report.facts
    assert facts["repeated rows"].startswith("160 rows differ from others")
    tested = checked.X_test["a"]
    rows_per_unit = tested.value_counts()
    assert rows_per_unit.eq(4).all()

    # an unknown unit's target is not known: no better than a constant
    errors = checked.report.errors
    error = errors.loc["all rows", "KerHRM"]
    assert error > 0.8 * table["y"].std()
    facts_of_columns = [name for name in facts if name.startswith("column")]
    assert not facts_of_columns


def test_rows_of_few_categories_are_alike_by_chance(plain: pd.DataFrame) -> None:
    categories = (plain > 0).astype(int)
    facts = check(categories, "y").report.facts
    assert "copies" not in facts
    assert facts["rows"].startswith("56 train, 24 test")

    facts_of_numbers = check(plain, "y").report.facts
    assert "copies" not in facts_of_numbers


def test_a_category_without_rows_changes_no_split(plain: pd.DataFrame) -> None:
    labels = np.where(plain["y"] > 1, "yes", "no")
    expected = check(plain.assign(y=labels), "y")
    categories = pd.Categorical(labels, categories=["perhaps", "yes", "no"])
    checked = check(plain.assign(y=categories), "y")
    assert checked.X_test.index.tolist() == expected.X_test.index.tolist()
    assert_frame_equal(checked.report.errors, expected.report.errors)
    assert "column 'y'" not in checked.report.facts


def test_a_column_that_the_training_rows_leave_out_is_told(plain: pd.DataFrame) -> None:
    """Five rows of the table have its most frequent text, and fewer that train."""
    names = np.array([f"name {row // 2}" for row in range(80)])
    names[::16] = "often"
    table = plain.assign(name=names)
    assert not columns_that_name_rows(table)
    with warnings.catch_warnings(action="error"):
        checked = check(table, "y")
    assert checked.report.facts["column 'name'"] == LEFT_OUT
    assert "2 columns after encoding" in checked.report.facts["rows"]
    expected = check(plain, "y").report
    assert_array_equal(checked.report.errors, expected.errors)
    with refusal("no column is left that predicts besides 'name': its text differs"):
        check(table[["name", "y"]], "y")
