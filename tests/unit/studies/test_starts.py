"""What chooses among EM's starts, against enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerhrm_paper.studies.starts_results import best_of, summaries


@given(st.lists(st.integers(0, 5), min_size=1, max_size=7), st.data())
def test_the_best_of_some_starts_is_the_mean_over_all_choices(
    preferences: list[int], data: st.DataObject
) -> None:
    """Ties have one result, as equal optima do."""
    order = np.array(preferences, dtype=float)
    results = np.sin(order)
    draws = data.draw(st.integers(1, len(order)))
    chosen = [max(drawn) for drawn in itertools.combinations(order, draws)]
    assert best_of(order, results, draws) == pytest.approx(np.mean(np.sin(chosen)))


def test_degenerate_optima_are_set_aside() -> None:
    """The expected split, a likelier copy of the label, a likelier single
    environment."""
    names = ["label_information", "empty", "auc", "held_out", "result", "starts"]
    rows = [
        (0.0, False, 1.0, -0.5, 0.77, 7),
        (1.0, False, 0.5, 0.3, 0.3, 2),
        (0.0, True, 0.5, -0.4, 0.4, 1),
    ]
    frame = pd.DataFrame(rows, columns=names).assign(
        case="Table 1", seed=0, e_step="soft"
    )
    table = summaries({"starts_splits": frame})["starts_summary"]
    row = table.iloc[0]
    assert (row["rule"], row["likelihood"]) == (0.77, 0.3)
    assert (row["rule_right"], row["likelihood_right"]) == (1, 0)
    assert row[["label_split", "empty", "expected"]].tolist() == [0.2, 0.1, 0.7]
