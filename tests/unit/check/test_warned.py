"""What a fit warns of stands in the report of ``kerhrm check``, once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from kerhrm.check import Checked, check
from kerhrm.check.warned import recorded, with_warnings
from kerhrm.errors import (
    DataWarning,
    HeterogeneityNotDetectedWarning,
    PriceWarning,
)

N = 90
ORDER = (
    "categories next to other auxiliary columns are taken as numbers, in the order of "
    "their names; give one column of categories, or a column of 0 and 1 for each"
)
DEGENERATE = "every initialisation repeats the label; try another k"


def table(n: int = N) -> pd.DataFrame:
    random = np.random.default_rng(0)
    features = random.normal(size=(n, 2)).round(3)
    noise = random.normal(size=n)
    frame = pd.DataFrame(features, columns=["a", "b"])
    return frame.assign(y=(frame["a"] + frame["b"] + noise).round(3))


def everywhere(checked: Checked) -> list[str]:
    """The report as text and as a page."""
    return [str(checked.report), checked.report.to_html()]


def test_categories_that_are_taken_as_numbers_are_told() -> None:
    random = np.random.default_rng(1)
    countries = random.choice(["DE", "FR", "US"], N)
    given = table().assign(country=countries, day=range(N))
    checked = check(given, "y", auxiliary=["country", "day"])
    assert checked.report.facts["warning"] == ORDER
    for text in everywhere(checked):
        assert text.count("are taken as numbers") == 1
    assert checked.doubts is not None
    assert checked.doubts.startswith("first read the warnings below:")


def test_an_auxiliary_column_that_gives_the_target_away_is_told() -> None:
    given = table()
    given["z"] = 3 * given["y"] + 1
    checked = check(given, "y", auxiliary="z")
    remark = checked.report.facts["column 'z'"]
    assert remark.startswith("it gives the target away, so that environments are parts")
    for text in everywhere(checked):
        assert text.count("gives the target away") == 1
    assert checked.doubts is not None
    assert checked.doubts.startswith("first read the remarks on 'z' below:")


def test_repeated_rows_that_are_taken_for_independent_are_told() -> None:
    units = table(40)[["a", "b"]]
    three = units.loc[units.index.repeat(3)].reset_index(drop=True)
    noise = np.random.default_rng(2).normal(size=len(three))
    checked = check(three.assign(y=three["a"] + noise), "y")
    remark = checked.report.facts["repeated rows"]
    assert remark == (
        "120 rows differ from others in the target alone; such rows all train, or all "
        "test; they are taken for independent; give one row for each unit, with the "
        "mean of its targets"
    )
    assert "warning" not in checked.report.facts


def test_columns_that_vary_in_no_row_that_trains_are_told() -> None:
    y = table()["y"]
    constant = check(pd.DataFrame({"a": 1, "y": y}), "y").report.facts
    assert constant["column 'a'"] == "it is constant; --drop a"
    assert "warning" not in constant  # which would say it twice
    test_row = check(table(), "y").y_test.index[0]
    nearly = pd.DataFrame({"a": np.where(y.index == test_row, 2, 1), "y": y})
    facts = check(nearly, "y").report.facts
    assert facts["warning"].startswith("X is constant")


def test_categories_that_only_test_rows_have_are_told() -> None:
    units = table(50)[["a"]]
    units["unit"] = [f"unit {number}" for number in range(50)]
    six = units.loc[units.index.repeat(6)].reset_index(drop=True)
    checked = check(six.assign(y=table(300)["y"]), "y")
    remark = checked.report.facts["column 'unit'"]
    assert remark.startswith("in the test rows it has no value that was in the fit, as")
    assert "spelling" not in remark


def test_what_the_report_says_anyway_is_not_told_again() -> None:
    reason = "no environments are detected"
    facts = {"predicts by": f"ERM: {reason}"}
    of_fit = [f"{reason}; predicting as ERM: if_not_detected='fit' keeps KerHRM"]
    told = with_warnings(facts, of_fit, [], features=["a"], auxiliary=[])
    assert told == facts


def test_any_other_warning_is_told() -> None:
    facts = {"predicts by": "KerHRM, its network"}
    of_fit = [DEGENERATE, "something new"]
    told = with_warnings(facts, of_fit, [], features=["a"], auxiliary=[])
    more = {"warning 1": DEGENERATE, "warning 2": "something new"}
    assert told == facts | more


def test_warnings_are_recorded_once_and_others_are_shown() -> None:
    with pytest.warns(ConvergenceWarning, match="no end"):
        texts = texts_of_a_block()
    assert texts == ["odd", DEGENERATE]


def texts_of_a_block() -> list[str]:
    with recorded() as texts:
        for _ in range(2):
            warnings.warn("odd", DataWarning, stacklevel=1)
        warnings.warn(DEGENERATE, HeterogeneityNotDetectedWarning, stacklevel=1)
        warnings.warn("it costs", PriceWarning, stacklevel=1)
        warnings.warn("no end", ConvergenceWarning, stacklevel=1)
    return texts
