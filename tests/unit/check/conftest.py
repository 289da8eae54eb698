"""A table without hidden environments."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def plain() -> pd.DataFrame:
    """A number y that two columns predict, the same in all rows."""
    random, n = np.random.default_rng(0), 80
    table = pd.DataFrame(random.normal(size=(n, 2)).round(3), columns=["a", "b"])
    table["y"] = (table["a"] + 2 * table["b"] + 0.3 * random.normal(size=n)).round(3)
    return table
