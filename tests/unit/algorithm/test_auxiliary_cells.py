"""Cells of an auxiliary variable: quantile bins, categories, clusters of columns."""

import warnings

import numpy as np
import pytest
import torch

from kerhrm import KerhrmError
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

    # of few rows the most frequent categories, and one cell of others
    few = np.repeat(np.arange(12.0), 5)
    few[:3] = 7.0
    by_number = Cells.fit(few[:, None])
    assert len(by_number) == 2
    cells = Cells.fit(few[:, None], categories=[True])
    assert len(cells) == 10
    assert 7.0 in cells.values
    assert 0.0 not in cells.values

    # up to ten are a cell each
    ten = np.repeat(np.arange(10.0), 2)[:, None]
    assert Cells.fit(ten, categories=[True]).locate(ten).tolist() == ten[:, 0].tolist()


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


def test_cells() -> None:
    random = np.random.default_rng(0)
    numbers = random.standard_normal((500, 1))
    cells = Cells.fit(numbers)
    sizes = torch.bincount(cells.locate(numbers))
    assert sizes.tolist() == [50] * 10
    far = np.array([[-99.0], [99.0]])
    cells_of_far = cells.locate(far)
    assert cells_of_far.tolist() == [0, 9]
    few = numbers[: 3 * CELL_POINTS]
    assert len(Cells.fit(few)) == 3

    values = np.array([2.0, 7.0, 9.0])
    categories = np.repeat(values, 4)[:, None]
    codes = Cells.fit(categories).locate(categories)
    expected = np.repeat([0, 1, 2], 4)
    assert codes.tolist() == expected.tolist()

    # two columns of categories: a cell for each pair
    pairs = [
        [0.0, 0.0],
        [0.0, 5.0],
        [1.0, 0.0],
        [1.0, 5.0],
    ]
    crossed = np.array(pairs * 3)
    both = Cells.fit(crossed)
    assert len(both) == 4
    expected = [0, 1, 2, 3] * 3
    assert both.locate(crossed).tolist() == expected

    group = random.integers(3, size=300)
    centres = 20 * group[:, None]
    places = random.standard_normal((300, 2)) + centres
    cells_of_places = Cells.fit(places, 3)
    found = cells_of_places.locate(places).tolist()
    matches = zip(found, group.tolist(), strict=True)
    assert len(set(matches)) == 3

    a_number_is_missing = np.array([[1.0], [np.nan]])
    bad = [
        (np.ones((5, 1)), "constant"),
        (a_number_is_missing, "row 1 .* is not"),
        (np.ones(5), r"shape \(5,\)"),
        (np.ones((5, 0)), "shape"),
    ]
    for given, match in bad:
        with pytest.raises(KerhrmError, match=match):
            Cells.fit(given)
    with pytest.raises(KerhrmError, match="must have 1 columns; got 2"):
        cells.locate(places)
