"""Which rows of a table train and which test."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm.tables.draws import draw_rows

OPTIONS = {"share": 0.3, "most": 800, "seed": 0}


def numbers(n: int) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame(random.normal(size=(n, 2)), columns=["a", "b"])


def labels(n: int, n_rare: int) -> pd.Series:
    """Of which the last ones are rare."""
    words = np.full(n, "no", dtype=object)
    words[n - n_rare :] = "yes"
    return pd.Series(words, name="y")


@pytest.mark.parametrize("seed", range(8))
def test_two_rows_of_a_label_are_on_both_sides(seed: int) -> None:
    y = labels(60, 2)
    none = np.zeros(60, dtype=bool)
    options = OPTIONS | {"seed": seed}
    train, test = draw_rows(numbers(60), y, "classification", none, **options)
    assert y[train].value_counts().to_dict() == {"no": 41, "yes": 1}
    assert y[test].value_counts().to_dict() == {"no": 17, "yes": 1}


@pytest.mark.parametrize("seed", range(8))
def test_a_rare_label_is_among_the_few_rows_that_train(seed: int) -> None:
    y = labels(1000, 2)
    none = np.zeros(1000, dtype=bool)
    options = OPTIONS | {"seed": seed, "most": 10}
    train, test = draw_rows(numbers(1000), y, "classification", none, **options)
    assert len(set(train)) == 10
    assert len(test) == 300
    assert "yes" in set(y[train])


def test_rows_held_out_test_and_others_do_one_of_both() -> None:
    held_out = np.arange(60) % 4 == 0
    y = pd.Series(np.arange(60.0), name="y")
    train, test = draw_rows(numbers(60), y, "regression", held_out, **OPTIONS)
    both = np.concatenate([train, test])
    assert_array_equal(np.sort(both), np.arange(60))
    assert not held_out[train].any()
    assert len(train) == 45 - 14


def test_one_row_on_a_side_is_drawn_without_the_labels() -> None:
    y = labels(10, 4)
    none = np.zeros(10, dtype=bool)
    options = OPTIONS | {"share": 0.05}
    train, test = draw_rows(numbers(10), y, "classification", none, **options)
    assert (len(train), len(test)) == (9, 1)


def test_a_side_without_rows_is_refused() -> None:
    y = pd.Series([1.0, 2.0, 3.0], name="y")
    none = np.zeros(3, dtype=bool)
    options = OPTIONS | {"share": 0.9}
    with refusal("3 different rows are too few to train on and to test; give more"):
        draw_rows(numbers(3), y, "regression", none, **options)
