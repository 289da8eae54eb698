"""Auxiliary columns, which environments are functions of, as numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.estimators._data import first_row


@dataclass
class AuxiliaryColumns:
    """Reads auxiliary columns.

    Numbers and dates as numbers, anything else as categories.

    ``categories`` are those of the fit, by column.
    """

    categories: dict[Any, list[Any]]

    def read(self, Z: Any, n: int, *, reset: bool) -> np.ndarray:
        """Columns (n, c), float64; ``reset`` when fitting, which learns the categories.

        Raises KerhrmError if there is not a row for each of X, a value is missing, or a
        category is new.
        """
        Z = Z.detach().cpu().numpy() if isinstance(Z, Tensor) else Z
        rows = len(Z) if np.ndim(Z) in (1, 2) else 0
        if rows != n:
            raise KerhrmError(
                f"auxiliary has {rows} rows for {n} of X", "give one for each"
            )
        if not (table := pd.DataFrame(Z)).shape[1]:
            raise KerhrmError("auxiliary has no columns", "leave it out")
        columns = []
        for name, column in table.items():
            if column.isna().any():
                where = first_row(column.isna(), Z)
                problem = f"auxiliary column {name!r} has a missing value in {where}"
                raise KerhrmError(problem, "drop such rows, or fill them in")
            if column.dtype.kind == "M":
                column = column.astype("int64")
            elif column.dtype.kind not in "biuf":
                known = self.categories
                if reset:
                    known[name] = sorted(column.unique(), key=str)
                codes = pd.Index(known.get(name, []), dtype=object).get_indexer(column)
                if (codes < 0).any():
                    value = column.iloc[int((codes < 0).argmax())]
                    problem = (
                        f"auxiliary column {name!r} has {value!r}, which the fit "
                        "has not seen"
                    )
                    raise KerhrmError(problem, f"use one of {known.get(name)}")
                column = codes
            columns.append(np.asarray(column, dtype=np.float64))
        return np.column_stack(columns)
