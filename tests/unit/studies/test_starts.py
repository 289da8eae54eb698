"""What chooses among EM's starts, against enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerhrm_paper.studies.starts_results import best_of, summaries

some_preferences = st.lists(st.integers(0, 5), min_size=1, max_size=7)


@given(some_preferences, st.data())
def test_the_best_of_some_starts_is_the_mean_over_all_choices(
    preferences: list[int], data: st.DataObject
) -> None:
    """Ties have one result, as equal optima do."""
    order = np.array(preferences, dtype=float)
    results = np.sin(order)
    numbers = st.integers(1, len(order))
    draws = data.draw(numbers)
    choices = itertools.combinations(order, draws)
    best = [max(drawn) for drawn in choices]
    expected = np.mean(np.sin(best))
    mean = best_of(order, results, draws)
    assert mean == pytest.approx(expected)


def test_degenerate_optima_are_set_aside() -> None:
    """The expected split, a likelier copy of the label, a likelier single
    environment."""
    names = ["label_information", "empty", "auc", "held_out", "result", "starts"]
    rows = [
        (0.0, False, 1.0, -0.5, 0.77, 7),
        (1.0, False, 0.5, 0.3, 0.3, 2),
        (0.0, True, 0.5, -0.4, 0.4, 1),
    ]
    splits = pd.DataFrame(rows, columns=names)
    frame = splits.assign(case="Table 1", seed=0, e_step="soft")
    tables = summaries({"starts_splits": frame})
    row = tables["starts_summary"].iloc[0]
    assert row["rule"] == 0.77
    assert row["likelihood"] == 0.3
    assert row["rule_right"] == 1
    assert row["likelihood_right"] == 0
    shares = row[["label_split", "empty", "expected"]]
    assert shares.tolist() == [0.2, 0.1, 0.7]
