"""Auxiliary columns that are counted, not named, in another order than in the fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm.errors import DataWarning
from kerhrm.tables.auxiliary import AuxiliaryColumns

N = 4
X = np.zeros((N, 1))
VALUES = np.arange(2.0 * N).reshape(N, 2)


@pytest.mark.parametrize(
    ("fitted", "later"),
    [
        (VALUES, pd.DataFrame(VALUES)[[1, 0]]),
        (pd.DataFrame(VALUES), pd.DataFrame(VALUES)[[1, 0]]),
        (pd.DataFrame(VALUES)[[1, 0]], pd.DataFrame(VALUES)),
    ],
)
def test_their_numbers_are_their_names(
    fitted: np.ndarray | pd.DataFrame, later: pd.DataFrame
) -> None:
    columns = AuxiliaryColumns.learn(fitted, N, X)
    with refusal(r"in another order than in the fit; give auxiliary\[\["):
        columns.read(later, N, X)
    same_order = later[later.columns[::-1]]
    values = np.asarray(fitted)
    assert_array_equal(columns.read(same_order, N, X), values)
    with_names = isinstance(fitted, pd.DataFrame) and fitted.columns[0] == 1
    if with_names:
        with pytest.warns(DataWarning, match="in the order of the fit"):
            assert_array_equal(columns.read(values, N, X), values)
    else:
        assert_array_equal(columns.read(values, N, X), values)
