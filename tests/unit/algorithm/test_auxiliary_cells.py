"""Cells of an auxiliary variable: quantile bins, categories, clusters of columns."""

import warnings

import numpy as np
import pytest
import torch
from refusals import refusal

from kerhrm.algorithm.cells import CELL_POINTS, Cells


def test_no_cell_is_empty_and_a_larger_value_has_one() -> None:
    """Where a quantile is the largest value, which many rows have."""
    random = np.random.default_rng(0)
    for share in (0.11, 0.25, 0.4, 0.85, 0.95):
        numbers = random.uniform(0, 10, 1000)
        tied = random.random(1000) < share
        column = np.where(tied, 10.0, numbers)[:, None]
        cells = Cells.fit(column)
        located = cells.locate(column)
        sizes = torch.bincount(located, minlength=len(cells))
        assert len(cells) == len(sizes) > 1
        assert sizes.min() > 0
        (of_largest,) = located[tied].unique().tolist()
        above = np.array([[11.0]])
        assert cells.locate(above).tolist() == [of_largest]


def test_frequent_categories_are_cells_whatever_their_numbers() -> None:
    random = np.random.default_rng(0)
    sizes = [60, 45, *[30] * 9, *[29] * 4, 3]
    categories = np.repeat(np.arange(16), sizes)
    for _ in range(3):
        numbers = random.permutation(16).astype(float)
        column = numbers[categories][:, None]
        cells = Cells.fit(column, categories=[True])
        located = cells.locate(column).numpy()
        assert len(cells) == 12
        for category in range(11):
            (cell,) = set(located[categories == category].tolist())
            assert (located == cell).sum() == sizes[category]
        (shared,) = set(located[categories > 10].tolist())
        assert shared == 11
        unseen = np.array([[99.0]])
        assert cells.locate(unseen).tolist() == [11]


def test_of_few_rows_the_most_frequent_categories_are_cells() -> None:
    """And one cell is of the others."""
    few = np.repeat(np.arange(12.0), 5)
    few[:3] = 7.0
    column = few[:, None]
    as_numbers = Cells.fit(column)
    assert len(as_numbers) == 2
    cells = Cells.fit(column, categories=[True])
    assert len(cells) == 10
    assert 7.0 in cells.values
    assert 0.0 not in cells.values


def test_up_to_ten_categories_are_a_cell_each() -> None:
    numbers = np.arange(10.0)
    ten = np.repeat(numbers, 2)
    column = ten[:, None]
    cells = Cells.fit(column, categories=[True])
    located = cells.locate(column)
    assert located.tolist() == ten.tolist()


def test_many_categories_next_to_another_column_are_numbers_with_a_warning() -> None:
    random = np.random.default_rng(0)
    time = random.random(300)
    for count in (2, 3):
        category = random.integers(count, size=300)
        columns = np.column_stack([time, category])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cells = Cells.fit(columns, categories=[False, True])
        as_numbers = Cells.fit(columns)
        assert torch.equal(cells.locate(columns), as_numbers.locate(columns))
        texts = [str(warning.message) for warning in caught]
        assert len(texts) == count - 2
        assert all("taken as numbers" in text for text in texts)


def test_numbers_are_cut_at_their_deciles() -> None:
    random = np.random.default_rng(0)
    numbers = random.standard_normal((500, 1))
    cells = Cells.fit(numbers)
    located = cells.locate(numbers)
    sizes = torch.bincount(located)
    assert sizes.tolist() == [50] * 10
    far = np.array([[-99.0], [99.0]])
    cells_of_far = cells.locate(far)
    assert cells_of_far.tolist() == [0, 9]


def test_few_numbers_have_fewer_cells() -> None:
    random = np.random.default_rng(0)
    few = random.standard_normal((3 * CELL_POINTS, 1))
    cells = Cells.fit(few)
    assert len(cells) == 3


def test_each_of_few_values_is_a_cell() -> None:
    values = np.array([2.0, 7.0, 9.0])
    column = np.repeat(values, 4)[:, None]
    cells = Cells.fit(column)
    located = cells.locate(column)
    expected = np.repeat([0, 1, 2], 4)
    assert located.tolist() == expected.tolist()


def test_each_pair_of_two_columns_of_categories_is_a_cell() -> None:
    pairs = [
        [0.0, 0.0],
        [0.0, 5.0],
        [1.0, 0.0],
        [1.0, 5.0],
    ]
    columns = np.array(pairs * 3)
    cells = Cells.fit(columns)
    located = cells.locate(columns)
    assert len(cells) == 4
    assert located.tolist() == [0, 1, 2, 3] * 3


def test_places_are_clustered() -> None:
    random = np.random.default_rng(0)
    group = random.integers(3, size=300)
    centres = 20 * group[:, None]
    noise = random.standard_normal((300, 2))
    places = centres + noise
    cells = Cells.fit(places, 3)
    located = cells.locate(places)
    matches = zip(located.tolist(), group.tolist(), strict=True)
    assert len(set(matches)) == 3


NUMBER_IS_MISSING = np.array([[1.0], [np.nan]])
#: columns that are refused, and why
REFUSED = {
    "a constant": (np.ones((5, 1)), "constant"),
    "a missing number": (NUMBER_IS_MISSING, "row 1 .* is not"),
    "one dimension": (np.ones(5), r"shape \(5,\)"),
    "no column": (np.ones((5, 0)), "shape"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_columns_without_cells_are_refused(name: str) -> None:
    columns, match = REFUSED[name]
    with refusal(match):
        Cells.fit(columns)


def test_another_number_of_columns_is_refused() -> None:
    random = np.random.default_rng(0)
    numbers = random.standard_normal((50, 1))
    cells = Cells.fit(numbers)
    places = random.standard_normal((50, 2))
    with refusal("must have 1 columns; got 2"):
        cells.locate(places)
