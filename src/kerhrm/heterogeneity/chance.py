"""Are equal points copies, or draws that are alike by chance?"""

import numpy as np


def expected_pairs(table: np.ndarray) -> float:
    """Expected number of equal pairs among m rows with independent columns, each with
    the law of its values in these distinct rows (m, c)."""
    m = len(table)
    ordered_pairs = m * (m - 1)
    pairs = ordered_pairs / 2
    for column in table.T:
        _, counts = np.unique(column, return_counts=True)
        shares = counts / m
        chance = float((shares**2).sum())
        pairs *= chance
    return pairs


def few_categories(different: np.ndarray) -> bool:
    """Whether different points (m, c) hold so few values that equal ones are expected:
    equal points are draws then, as ratings from 1 to 5, and else copies."""
    return expected_pairs(different) >= 1
