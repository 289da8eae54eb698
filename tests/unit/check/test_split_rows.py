"""How ``kerhrm check`` splits rows: copies, rows of one unit, groups and labels of
one row."""

import numpy as np
import pandas as pd
import pytest

from kerhrm.check import check
from kerhrm.errors import KerhrmError


def test_a_label_that_no_test_row_has_is_said(plain: pd.DataFrame) -> None:
    tested = check(plain, "y").X_test.index
    trained = plain.index.difference(tested)
    rare = plain.assign(y=np.where(plain.index == trained[0], "yes", "no"))
    told = check(rare, "y").report.facts["column 'y'"]
    assert told.startswith("'yes' stands in 1 row, none of which tests: the errors say")
    rare = plain.assign(y=np.where(plain.index == tested[0], "yes", "no"))
    with pytest.raises(KerhrmError, match="'y' is 'no' in all training rows; give"):
        check(rare, "y")
    two = plain.assign(y=np.where(plain.index < 2, "yes", "no"))
    assert "column 'y'" not in check(two, "y").report.facts


def test_groups_of_one_row_are_said(plain: pd.DataFrame) -> None:
    table = plain.assign(who=[f"p{i}" for i in range(80)], pair=np.arange(80) // 2)
    facts = check(table, "y", group="who").report.facts
    assert "every test row is a group of its own" in facts["column 'who'"]
    assert "column 'pair'" not in check(table, "y", group="pair").report.facts


def test_copies_of_rows_are_on_one_side_of_the_split(plain: pd.DataFrame) -> None:
    some = pd.concat([plain, plain.iloc[:30]], ignore_index=True)
    all_of_them = pd.concat([plain.assign(c=[*"pq"] * 40)] * 3)
    for table, number in ((some, 60), (all_of_them, 240)):
        found = check(table, "y")
        told = f"{number} rows occur more than once; all copies"
        assert found.report.facts["copies"].startswith(told)
        tested = set(found.y_test)
        kept = table[~table["y"].isin(tested)]
        assert len(kept) + len(found.y_test) == len(table)
        assert 0.2 < len(found.y_test) / len(table) < 0.4
    labels = pd.concat([plain.assign(y=np.where(plain["y"] > 0, "p", "q"))] * 2)
    found = check(labels, "y")
    assert len(set(found.X_test["a"])) * 2 == len(found.X_test)


def test_rows_that_differ_in_the_target_alone_are_on_one_side() -> None:
    random, unit = np.random.default_rng(0), np.repeat(np.arange(40), 4)
    table = pd.DataFrame(random.normal(size=(40, 3)), columns=[*"abc"]).iloc[unit]
    table["y"] = random.normal(size=40)[unit] + 0.1 * random.normal(size=160)
    found = check(table, "y")
    assert found.report.facts["repeated rows"].startswith("160 rows differ from others")
    assert found.X_test["a"].value_counts().eq(4).all()
    # an unknown unit's target is not known: no better than a constant
    assert found.report.errors.loc["all rows", "KerHRM"] > 0.8 * table["y"].std()
    assert not [name for name in found.report.facts if name.startswith("column")]


def test_rows_of_few_categories_are_alike_by_chance(plain: pd.DataFrame) -> None:
    table = (plain > 0).astype(int)
    facts = check(table, "y").report.facts
    assert "copies" not in facts
    assert facts["rows"].startswith("56 train, 24 test")
    assert "copies" not in check(plain, "y").report.facts
