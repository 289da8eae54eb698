"""Does a table show whether its numbers have a decimal point or a decimal comma?"""

import numpy as np
import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.tables.cells import NO_NUMBER, Words, is_text
from kerhrm.tables.numerals import decimal_signs, number


def shows_comma(table: pd.DataFrame) -> bool:
    """Whether the numbers of some column have a decimal comma without doubt."""
    for _, column in table.items():
        if not is_text(column):
            continue
        known = Words.from_column(column).known(NO_NUMBER)
        if decimal_signs(known) == {","}:
            return True
    return False


def three_decimals(table: pd.DataFrame, *, has_zeros: bool) -> list[int]:
    """Columns of floats that may be thousands with a point, as 1.004 or 10.000 next to
    850.

    None, if some float has another number of decimals, so that the point is decimal.
    Whole floats are doubtful if the file ``has_zeros``, as those of 10.000; their text
    may say more, as 2000.000 does.
    """
    doubtful = []
    for place, (_, column) in enumerate(table.items()):
        if column.dtype.kind != "f":
            continue
        is_finite = np.isfinite(column)
        finite = column.to_numpy()[is_finite]
        values = np.abs(finite)
        if not len(values):
            continue
        parts = values[values % 1 != 0]
        if not len(parts):
            if has_zeros:
                doubtful.append(place)
            continue
        thousands = parts * 1000
        whole = thousands.round()
        grouped = np.isclose(thousands, whole, rtol=1e-12, atol=1e-9).all()
        in_range = parts.min() >= 1 and parts.max() < 1000
        # a whole number from 1000 on would have its point, too
        has_thousands = values.max() >= 1000
        if has_thousands or not (in_range and grouped):
            return []
        doubtful.append(place)
    return doubtful


def check_decimal(table: pd.DataFrame) -> None:
    """Refuse numbers such as 10,126 if no column shows what the comma means.

    So are those such as 1.004.  A comma that separates no cells may be decimal.
    """
    certain: set[str] = set()
    doubtful = {}
    for name, column in table.items():
        if not is_text(column):
            continue
        words = Words.from_column(column).known(NO_NUMBER)
        signs = decimal_signs(words)
        if len(signs) == 1:
            certain |= signs
        if len(signs) == 2:
            doubtful[name] = words
    floats = table.select_dtypes("float").to_numpy()
    finite = floats[np.isfinite(floats)]
    has_decimals = finite % 1 != 0
    if has_decimals.any():
        certain.add(".")
    if len(certain) == 1:
        return
    for name, words in doubtful.items():
        for word in words:
            comma = number(word, ",")
            point = number(word, ".")
            if comma != point:
                problem = f"column {str(name)!r} does not show whether {word!r} is "
                problem += f"{comma} or {point}"
                raise KerhrmError(problem, "add --decimal , or --decimal .")
