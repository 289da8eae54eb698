"""Labels of rows, of any kind: environments and groups."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.errors import DataWarning, KerhrmError, shown, warn
from kerhrm.given import check_order
from kerhrm.tables.arrays import column, kind
from kerhrm.tables.index import first_row
from kerhrm.tables.wording import counted, names_of


@dataclass(frozen=True)
class Labels:
    """Labels of n rows as numbers, and their names, no two of which are alike.

    Numbers and text are in their own order.
    """

    codes: np.ndarray  #: (n,), int64, from 0
    names: list[str]

    def members(self, number: int) -> np.ndarray:
        """Rows (n,) with a label, bool."""
        return np.asarray(self.codes == number)


def read_labels(labels: Any, n: int, what: str, table: Any = None) -> Labels:
    """Labels of any kind, ``what`` in the plural, of the n rows of a table.

    Equal numbers are one label, whatever their type.  Truth values are no numbers.

    Raises KerhrmError if there is not one for each row, in the table's order, one is
    missing, or two have the same name, as 1 and "1".
    """
    check_order(table, labels, what)
    values = column(labels, what, nested=True)
    if len(values) != n:
        problem = f"{what} have shape {values.shape} for {n} rows"
        raise KerhrmError(problem, "give one label for each row")
    missing = pd.isna(values)
    if missing.any():
        n_missing = missing.sum()
        first = first_row(missing, labels)
        problem = f"{what} are missing in {counted(n_missing)}, the first is {first}"
        raise KerhrmError(problem, "drop these rows, or label them")
    codes, distinct = _factorise(values, what)
    return Labels(codes, names_of(distinct, what))


def environment_labels(environments: Any, n: int, table: Any = None) -> np.ndarray:
    """Labels 0, 1, ... (n,) of the environments of a table's n rows, from any labels.

    All 0 without.  Warns of labels that separate nothing: of one environment, or of as
    many as there are rows.

    Raises KerhrmError unless there is one for each row, in the table's order, and no
    two have the same name.
    """
    if environments is None:
        text = "no environments given: all rows count as one; pass environments= to fit"
        warn(text, DataWarning)
        return np.zeros(n, dtype=np.int64)
    labels = read_labels(environments, n, "environments", table)
    n_environments = len(labels.names)
    if n_environments == 1:
        name = labels.names[0][:40]
        text = f"environments are all {name!r}: one environment"
        text += " separates nothing; give labels of two or more"
        warn(text, DataWarning)
    elif n_environments == n:
        text = "environments have one row each, which shows no relation within them;"
        text += " give labels that several rows share"
        warn(text, DataWarning)
    return labels.codes


def in_category_order(labels: Any, names: list[str]) -> list[str]:
    """Names of labels, in the order of its categories if they are categorical."""
    dtype = getattr(labels, "dtype", None)
    if not isinstance(dtype, pd.CategoricalDtype):
        return names
    places = {}
    for place, category in enumerate(dtype.categories):
        name = str(category) or "''"
        places[name] = place
        if isinstance(category, float) and category.is_integer():
            places.setdefault(str(int(category)), place)  # as labels are called
    return sorted(names, key=lambda name: places.get(name, len(places)))


def _factorise(values: np.ndarray, what: str) -> tuple[np.ndarray, list[Any]]:
    """Numbers (n,) of the values, and the distinct values in their own order."""
    if values.dtype.kind in "biufU":
        distinct, codes = np.unique(values, return_inverse=True)
        return codes, distinct.tolist()
    if pd.api.types.infer_dtype(values, skipna=False) == "string":
        codes, distinct = pd.factorize(values, sort=True)
        return codes, distinct.tolist()
    items = pd.Series(values).tolist()
    keys = [_key(value) for value in items]
    try:
        unordered = dict.fromkeys(keys)
    except TypeError as error:
        _, first = keys[0]
        problem = f"{what} must be numbers, text or dates; got {shown(first)}"
        raise KerhrmError(problem, "give one label for each row") from error
    ordered = _in_order(unordered)
    numbers = {key: number for number, key in enumerate(ordered)}
    numbers_of_rows = [numbers[key] for key in keys]
    codes = np.array(numbers_of_rows)
    names = [value for _, value in ordered]
    return codes, names


def _in_order(keys: Collection[tuple[bool, Any]]) -> list[tuple[bool, Any]]:
    """Keys by their values where these can be compared, else by their text."""
    kinds = {kind(value) for _, value in keys}
    by_text = sorted(keys, key=_by_text)
    comparable = len(kinds) == 1 or kinds == {"numbers", "truth values"}
    if not comparable:
        return by_text
    try:
        return sorted(by_text, key=lambda key: (key[1], key[0]))
    except TypeError:
        return by_text


def _key(value: Any) -> tuple[bool, Any]:
    """What two rows with the same label have in common: True is not 1, but 1.0 is."""
    if isinstance(value, bool | np.bool_):
        return True, bool(value)
    is_float = isinstance(value, float | np.floating)
    if is_float and float(value).is_integer():
        return False, int(value)
    return False, value


def _by_text(key: tuple[bool, Any]) -> tuple[str, str]:
    _, value = key
    return kind(value), str(value)
