"""A table as numbers: medians, categories, and what is left out."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from kerhrm.errors import DataWarning, KerhrmError, shown, suggest, warn
from kerhrm.tables.columns import (
    MAX_CATEGORIES,
    NAMES_ROWS,
    READERS,
    column_kind,
    columns_that_name_rows,
    named,
    none_left,
)
from kerhrm.tables.wording import listed


def table_encoder() -> "TableEncoder":
    """Encoder of DataFrames, for ``make_pipeline(table_encoder(), KerHRMRegressor())``.

    Numbers and booleans stay, dates become days since 1970 and durations days; missing
    ones are their column's median, next to a column that says so.  Everything else is
    text, and a missing value is one: a column of 0 and 1 for each value, or, of more
    than 20, for each of the 19 most frequent and one for all others
    (``NAME_infrequent_sklearn``), which stands for values that the fit has not seen as
    well.  Columns keep their names.

    Text that names rows, as identifiers and addresses do, is left out, and a warning
    says so: more than 20 values, none of which five rows have.  Its columns of 0 and 1
    would each mark a few rows, and hide from KerHRM what other columns do.

    Returns
    -------
    TableEncoder
        Not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from kerhrm import table_encoder
    >>> table = pd.DataFrame({"pay": [3.0, None, 5.0], "field": ["law", None, "care"]})
    >>> encoded = table_encoder().fit_transform(table)
    >>> encoded.columns.tolist()
    ['pay', 'missingindicator_pay', 'field_care', 'field_law', 'field_missing']
    """
    return TableEncoder()


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encoder of DataFrames, see :func:`kerhrm.table_encoder`.

    What a column holds is decided by the type that it has in the fit.  Later rows may
    have another: a number 1 is the category "1", whether it is text, 1 or 1.0.  Columns
    are found by name, in any order.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians and categories of the columns X (n_samples, n_columns).

        Warns of columns of text that name rows, which are left out.

        Raises KerhrmError naming a column that cannot be encoded, or two of one name,
        or if no other column is left.
        """
        table = named(X)
        _, n_columns = table.shape
        if n_columns == 0:
            raise KerhrmError("X has no columns", "give one column or more")
        _check_rows(table)
        self.feature_names_in_ = np.array(table.columns, dtype=object)
        self.n_features_in_ = n_columns
        names_of_kind: dict[str, list[str]] = {kind: [] for kind in READERS}
        self.left_out_ = columns_that_name_rows(table)
        described = table.drop(columns=self.left_out_)
        if not described.shape[1]:
            raise none_left(self.left_out_)
        for name in self.left_out_:
            hint = "give pd.to_numeric of it if it holds numbers"
            warn(f"column {name!r} is left out: {NAMES_ROWS}; {hint}", DataWarning)
        for name, column in described.items():
            names_of_kind[column_kind(column)].append(str(name))
        fill = SimpleImputer(
            strategy="median", add_indicator=True, keep_empty_features=True
        )
        one_hot = OneHotEncoder(
            sparse_output=False,
            max_categories=MAX_CATEGORIES,
            handle_unknown="infrequent_if_exist",
        )
        self.parts_ = []
        for kind, names in names_of_kind.items():
            if not names:
                continue
            part = clone(one_hot if kind == "text" else fill)
            values = _read(table, names, kind)
            part.fit(values)
            self.parts_.append((kind, names, part))
        self.names_ = _distinct(self.parts_)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Numbers (n_samples, n_encoded), in the index of X.

        Raises KerhrmError naming a column that is not there, or a value that is not
        of the kind that its column held in the fit.  Warns of a column of text none
        of whose values the fit has seen, and of another one that is missing in every
        row, and was in none of the fit.
        """
        check_is_fitted(self)
        table = named(X)
        _check_rows(table)
        for name in self.feature_names_in_:
            if name not in table and name not in self.left_out_:
                columns = list(table.columns)
                hint = suggest(name, columns)
                raise KerhrmError(f"column {name!r} of the fit is missing", hint)
        parts = []
        for kind, names, part in self.parts_:
            values = _read(table, names, kind)
            if kind == "text":
                _warn_of_unseen(values, names, part.categories_)
            else:
                _warn_of_missing(values, names, part.indicator_.features_)
            parts.append(part.transform(values))
        encoded = np.hstack(parts)
        return pd.DataFrame(encoded, table.index, self.names_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the encoded columns."""
        check_is_fitted(self)
        return np.array(self.names_, dtype=object)


def _check_rows(table: pd.DataFrame) -> None:
    """Refuse a table without rows."""
    if not len(table):
        raise KerhrmError("X has no rows", "give one row or more")


def _warn_of_unseen(
    values: np.ndarray, names: Sequence[str], categories: Sequence[np.ndarray]
) -> None:
    """Warn of columns of text (n, c) none of whose values the fit has seen."""
    for column, name, known in zip(values.T, names, categories, strict=True):
        if np.isin(column, known).any():
            continue
        categories_of_fit = [str(category) for category in known]
        had = listed(categories_of_fit)
        example = shown(column[0], 40)
        text = f"column {name!r} has no value that was in the fit, as {example}"
        warn(f"{text}; it had {had}: look at its spelling", DataWarning)


def _warn_of_missing(
    values: np.ndarray, names: Sequence[str], sometimes_missing: np.ndarray
) -> None:
    """Warn of columns of numbers (n, c) without a value, but for those of these numbers
    (m,), which had missing values in the fit."""
    known = np.ones(len(names), dtype=bool)
    known[sometimes_missing] = False
    without_values = np.isnan(values).all(axis=0)
    for j in map(int, np.flatnonzero(known & without_values)):
        text = f"column {names[j]!r} has no value, and all had one in the fit"
        hint = "its median there is taken; look at how the table was joined"
        warn(f"{text}: {hint}", DataWarning)


def _read(table: pd.DataFrame, names: Sequence[str], kind: str) -> np.ndarray:
    """Columns of one kind (n, len(names))."""
    reader = READERS[kind]
    columns = [reader(table[name]) for name in names]
    return np.column_stack(columns)


def _distinct(parts: Sequence[tuple[str, list[str], Any]]) -> list[str]:
    """Names of the encoded columns, with a number where another one has the name."""
    kept: set[str] = set()
    for kind, names, _ in parts:
        if kind != "text":
            kept.update(names)
    distinct: list[str] = []
    for kind, names, part in parts:
        every = part.get_feature_names_out(names)
        same = 0 if kind == "text" else len(names)
        distinct += names[:same]
        for name in every[same:]:
            new = name
            number = 1
            while new in kept or new in distinct:
                number += 1
                new = f"{name}_{number}"
            distinct.append(new)
    return distinct
