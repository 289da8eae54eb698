"""Environments that are given to a fit: what is warned of."""

from typing import Any

import numpy as np
import pytest

from kerhrm import IRM, GroupDRO
from kerhrm.estimators import DataWarning

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 2))
FIRST = X[:, 0]
Y = np.where(FIRST > 0, "yes", "no")


@pytest.mark.parametrize("kind", [IRM, GroupDRO])
@pytest.mark.parametrize(
    ("environments", "words"),
    [
        (["a"] * 40, "environments are all 'a': one .* separates nothing; give labels"),
        (np.zeros(40, int), "environments are all '0'"),
        (range(40), "environments have one row each, .* give labels that several"),
        ([f"row {i}" for i in range(40)], "environments have one row each"),
    ],
)
def test_labels_that_separate_nothing_are_warned_of(
    kind: Any, environments: Any, words: str
) -> None:
    model = kind(steps=2, network=(4,), random_state=0)
    with pytest.warns(DataWarning, match=words) as warned:
        model.fit(X, Y, environments=environments)
    assert [warning.filename for warning in warned] == [__file__]


def test_two_environments_of_several_rows_are_not() -> None:
    one_row_apart = [0] * 39 + [1]
    model = IRM(steps=2, network=(4,))
    model.fit(X, Y, environments=one_row_apart)
