"""Rows of a table by its index, as errors name them.

Pandas is all that this imports, so that a file is read without PyTorch.
"""

from typing import Any

import numpy as np
import pandas as pd


def first_row(bad: Any, table: Any) -> str:
    """Name the first of some rows as pandas counts.

    By its index, or from 0 if it has none.
    """
    row = int(np.argmax(bad))
    index = getattr(table, "index", None)
    if isinstance(index, pd.Index):
        return f"index {index[row]}"
    return f"row {row} (counted from 0)"
