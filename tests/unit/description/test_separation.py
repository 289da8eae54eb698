"""The tree, the most certain rows and the rootogram of known memberships."""

import numpy as np
import pandas as pd
import pytest
from described_tables import sorted_rows, turned
from numpy.testing import assert_allclose

from kerhrm.description.memberships import certain_rows, rootogram
from kerhrm.description.text import short_names, table_of
from kerhrm.description.tree import Tree, separate
from kerhrm.errors import HeterogeneityNotDetectedWarning
from kerhrm.estimators.kerhrm import KerHRMRegressor


def conditions_of(tree: Tree) -> list[str]:
    """Conditions of its rules, without what they say of the rows."""
    return [rule.split(":")[0] for rule in tree.rules]


def test_the_rules_name_the_column_that_makes_the_split() -> None:
    table = turned()
    tree = separate(table.rows, table.memberships)
    assert tree.accuracy == pytest.approx(1)
    assert tree.says_more
    majority = 1 - table.hidden.mean()
    assert tree.majority == pytest.approx(majority)
    assert set(conditions_of(tree)) == {"if place = 0", "if place = 1"}
    of_place = next(rule for rule in tree.rules if "= 1" in rule)
    assert "environment 1 (100% of" in of_place


def test_a_rule_has_the_narrower_of_two_bounds_alone() -> None:
    """Three steps of one column: the middle one has a bound on each side."""
    z = np.linspace(0, 3, 300)
    x = z[:, None]
    y = np.zeros(300)
    rows = sorted_rows(x, y, names=["z"])
    whole = z.astype(int)
    step = np.minimum(whole, 2)
    one_hot = np.eye(3)[step]
    tree = separate(rows, one_hot)
    conditions = sorted(conditions_of(tree))
    bounds = [condition.count("z ") for condition in conditions]
    assert bounds == [1, 2, 1]


@pytest.mark.parametrize(
    ("first", "below", "above"),
    [
        (2011, "z <= 2015.5", "z > 2015.5"),
        (98099, "z <= 98103.5", "z > 98103.5"),
        (1_000_001, "z <= 1000005.5", "z > 1000005.5"),
        (10, "z <= 14.5", "z > 14.5"),
    ],
)
def test_a_rule_has_the_digits_that_its_side_needs(
    first: int, below: str, above: str
) -> None:
    """Rounded to four digits 2015.5 is 2016, which lies on the other side."""
    numbers = first + np.arange(10)
    z = np.repeat(numbers, 20).astype(float)
    rows = sorted_rows(z[:, None], np.zeros(len(z)), names=["z"])
    is_above = z > first + 4
    one_hot = np.eye(2)[is_above.astype(int)]
    tree = separate(rows, one_hot)
    assert conditions_of(tree) == [f"if {below}", f"if {above}"]


def test_two_large_values_are_told_apart() -> None:
    z = np.repeat([2_000_001.0, 2_000_002.0], 50)
    rows = sorted_rows(z[:, None], np.zeros(100), names=["z"])
    is_larger = z > z[0]
    one_hot = np.eye(2)[is_larger.astype(int)]
    tree = separate(rows, one_hot)
    assert conditions_of(tree) == ["if z = 2000001", "if z = 2000002"]


def test_a_split_that_no_column_knows_is_not_told_apart() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 3))
    y = random.normal(size=300)
    rows = sorted_rows(x, y)
    environment = random.integers(2, size=300)
    one_hot = np.eye(2)[environment]
    tree = separate(rows, one_hot)
    assert not tree.says_more


def test_rows_that_may_be_of_both_count_for_nothing() -> None:
    table = turned()
    unsure = table.memberships.copy()
    unsure[:100] = [0.501, 0.499]
    tree = separate(table.rows, unsure)
    assert tree.accuracy > 0.99


def test_the_most_certain_rows_are_named_by_their_labels() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(20, 1))
    y = random.normal(size=20)
    rows = sorted_rows(x, y)
    memberships = np.full((20, 2), 0.5)
    memberships[3] = [0.9, 0.1]
    memberships[8] = [0.95, 0.05]
    memberships[5] = [0.2, 0.8]
    found = certain_rows(rows, memberships, most=2)
    is_first = found["environment"] == "environment 0"
    of_first = found[is_first]
    expected = [rows.labels[8], rows.labels[3]]
    assert of_first["row"].tolist() == expected
    assert found["membership"].tolist() == [0.95, 0.9, 0.8]


def test_a_rootogram_has_all_rows_in_each_environment() -> None:
    of_first = np.array([1.0, 0.95, 0.5, 0.0])
    memberships = np.column_stack([of_first, 1 - of_first])
    heights = rootogram(memberships)
    counts = (heights**2).sum()
    assert_allclose(counts, [4, 4])
    assert heights.shape == (10, 2)


def test_long_labels_of_rows_stay_apart() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(120, 1))
    y = x[:, 0] + random.normal(size=120)
    names = [f"customer-number-{number:09d}" for number in range(119)]
    X = pd.DataFrame(x, [*names, "short"], columns=["x"])
    model = KerHRMRegressor(network=(), random_state=0, n_environments=2)
    with pytest.warns(HeterogeneityNotDetectedWarning):
        description = model.fit(X, y).describe(stability=0)
    assert description.certain is not None
    table = table_of(description)
    shown = ", ".join(table["most certain rows, by index"])
    expected = [
        f"custom...{label[-6:]}" if len(label) > 16 else label
        for label in description.certain["row"]
    ]
    assert [label for label in shown.split(", ") if label] == expected
    assert len({*expected}) == len(expected)


def test_labels_that_would_be_alike_stand_in_full() -> None:
    alike = ["customer-a-000001", "customer-b-000001"]
    assert short_names([*alike, "customer-c-000002"], 16) == [
        *alike,
        "custom...000002",
    ]
