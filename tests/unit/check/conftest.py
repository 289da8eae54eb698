"""A table without hidden environments."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def plain() -> pd.DataFrame:
    """A number y that two columns predict, the same in all rows."""
    random = np.random.default_rng(0)
    n = 80
    inputs = random.normal(size=(n, 2))
    columns = ["a", "b"]
    table = pd.DataFrame(inputs.round(3), columns=columns)
    signal = table["a"] + 2 * table["b"]
    normal = random.normal(size=n)
    noise = 0.3 * normal
    y = signal + noise
    table["y"] = y.round(3)
    return table
