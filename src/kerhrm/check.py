"""From a CSV file to a report.

The estimators on a table as it comes (``kerhrm check``).
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api import types

from kerhrm.errors import KerhrmError, KerhrmWarning
from kerhrm.estimators._report import Report
from kerhrm.estimators.kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.tables.almost import almost_dates, almost_numbers
from kerhrm.tables.arrays import first_row
from kerhrm.tables.cells import (
    counted,
    is_text,
    listed,
    read_cells,
    visible,
)
from kerhrm.tables.columns import (
    column_values,
    indistinct,
    named,
    table_encoder,
    texts,
)
from kerhrm.tables.copies import copied, repeated, split
from kerhrm.tables.csv import check_name
from kerhrm.tables.csv import read_names as read_names
from kerhrm.tables.csv import read_table as read_table
from kerhrm.tables.dates import date_options, digit_dates
from kerhrm.tables.oddities import is_regression, missing_code, without_notes
from kerhrm.tables.oddities import oddities as oddities

TEST_SHARE = 0.3
MIN_ROWS = 20
MAX_CLASSES = 5  #: whole numbers of a target that may be classes


class Checked(NamedTuple):
    """A fitted KerHRM, its report on test rows, and these rows as it reads them."""

    model: KerHRMClassifier | KerHRMRegressor
    report: Report
    X_test: pd.DataFrame
    y_test: pd.Series
    auxiliary_test: pd.DataFrame | None  #: None: there is no auxiliary column


def check(
    table: pd.DataFrame,
    target: str,
    *,
    auxiliary: Sequence[str] = (),
    group: str | None = None,
    drop: Sequence[str] = (),
    n_environments: int | None = None,
    random_state: int = 0,
) -> Checked:
    """Fit KerHRM to 70 % of a table's rows, drawn at random, and report on the others.

    Parameters
    ----------
    table : DataFrame
        Columns of any kind, see :func:`kerhrm.table_encoder`.  Cells of text are read
        as those of a file.
    target : str
        Column that is predicted: numbers, or two labels.
    auxiliary : sequence of str
        Columns that environments are functions of; they do not predict.
    group : str, optional
        Column whose values are compared on test rows; it does not predict.
    drop : sequence of str
        Columns that are not used.
    n_environments : int, optional
        K; by default 1 to 5, by held-out likelihood.
    random_state : int
        Seed.

    Raises
    ------
    KerhrmError
        If a column is not there or cannot be used, or there are too few rows.
    """
    if isinstance(table, pd.DataFrame):
        table = table.set_axis(table.columns.map(_name), axis=1)
    target, group = _name(target), None if group is None else _name(group)
    auxiliary, drop = (
        [*dict.fromkeys(map(_name, [names] if isinstance(names, str) else names))]
        for names in (auxiliary, drop)
    )
    others = [*auxiliary, *([] if group is None else [group]), *drop]
    cells = read_cells(without_notes(named(table)))
    rows = _complete_rows(cells.table, target, others, auxiliary)
    y, z = _target(rows[target]), _auxiliary(rows[auxiliary])
    features = rows.drop(columns=list({target, *others}))
    if not features.shape[1]:
        given = {"--auxiliary": auxiliary, "--group": group, "--drop": drop}
        options = " and ".join(option for option, names in given.items() if names)
        hint = f"name fewer columns in {options}" if options else "add columns"
        raise KerhrmError("no column is left that predicts", hint)
    alike = [name for name, column in features.items() if indistinct(column)]
    for name in alike:  # identifiers, as are those beyond 64 bits
        features[name] = features[name].astype(object).map(str, na_action="ignore")
        note = "its whole numbers are too large for float64: each is a category"
        cells.notes[name] = "; ".join(filter(None, [cells.notes.get(name), note]))
    twice, shared = copied(features, y), repeated(features)
    labels = None if is_regression(y) else y
    train, test = split(features, labels, twice | shared, TEST_SHARE, random_state)
    test, left_out = _known_only(z, train, test)
    if labels is not None:
        _check_labels(y.iloc[train])
    encoder = table_encoder().fit(features.iloc[train])
    given, given_test = (
        {"auxiliary": z.iloc[part]} if auxiliary else {} for part in (train, test)
    )
    kind = KerHRMRegressor if is_regression(y) else KerHRMClassifier
    model = kind(n_environments=n_environments, random_state=random_state)
    groups = None
    if group is not None:
        groups = pd.Series(texts(rows[group]), rows.index, name=group).iloc[test]
    with warnings.catch_warnings():
        # the report says so, and test rows drawn at random reach a little further
        warnings.simplefilter("ignore", KerhrmWarning)
        X, X_test = (encoder.transform(features.iloc[part]) for part in (train, test))
        model.fit(X, y.iloc[train], **given)
        report = model.report(X_test, y.iloc[test], groups, **given_test)
    columns = f"{counted(X.shape[1], 'column')} after encoding"
    facts = {"rows": f"{len(train)} train, {len(test)} test, {columns}"}
    if missing := len(table) - len(rows):
        left_out.append(f"{counted(missing)} without a target or auxiliary value")
    if left_out:
        facts["left out"] = ", ".join(left_out)
    if twice.any():
        copies = f"{counted(int(twice.sum()))} occur more than once"
        facts["copies"] = f"{copies}; all copies of a row train, or all test"
    if (differ := shared & ~twice).any():
        text = f"{counted(int(differ.sum()))} differ from others in the target alone"
        facts["repeated rows"] = f"{text}; such rows all train, or all test"
    features.attrs["notes"] = notes = table.attrs.get("notes", {}) | cells.notes
    odd = dict(oddities(features, y))
    for name in dict.fromkeys((target, *others)):
        told = [notes.get(name), name not in drop and missing_code(rows[name])]
        told += [name in auxiliary and digit_dates(rows[name])]
        if name == target:
            told += [_few(y, y.iloc[test])]
            if digits := digit_dates(y):
                cure = "give the days since a first day"
                told += [f"{digits.partition(':')[0]}: {cure}"]
        if name == group and groups is not None and groups.is_unique:
            text = "every test row is a group of its own: errors of one row say little"
            told += [f"{text}; give a column that several rows share"]
        if texts_told := [text for text in told if text]:
            odd[name] = "; ".join(texts_told)
    facts |= report.facts | {f"column {name!r}": text for name, text in odd.items()}
    return Checked(
        model,
        Report(report.errors, facts),
        X_test,
        y.iloc[test],
        z.iloc[test] if auxiliary else None,
    )


def check_column(name: str, table: pd.DataFrame) -> None:
    """Refuse a column that a table does not have."""
    check_name(name, [str(known) for known in table.columns])


def _name(name: Any) -> str:
    """Name of a column, one of those that look alike."""
    return visible(str(name))


def _complete_rows(
    table: pd.DataFrame, target: str, others: Sequence[str], auxiliary: Sequence[str]
) -> pd.DataFrame:
    """Rows with a target and auxiliary values.

    Raises KerhrmError if a column does not exist or is named twice, or rows are few.
    """
    for name in (target, *others):
        check_column(name, table)
    if target in others:
        problem = f"column {target!r} is the target, and no group, auxiliary or dropped"
        raise KerhrmError(problem, "name it only once")
    rows = table[table[[target, *auxiliary]].notna().all(axis=1)]
    if len(rows) < MIN_ROWS:
        problem = f"{len(rows)} of {len(table)} rows have a target and auxiliary values"
        raise KerhrmError(problem, f"give {MIN_ROWS} such rows or more")
    return rows


def _target(y: pd.Series) -> pd.Series:
    """A target without missing values, as NumPy's numbers, truth values, or text.

    Raises KerhrmError if it is neither numbers nor two labels.
    """
    what = f"the target {y.name!r} must be numbers or two labels"
    period = isinstance(y.dtype, pd.PeriodDtype)
    dates = is_text(y) and (date_options(y) or almost_dates(y))
    if y.dtype.kind in "mM" or period or dates:
        hint = "give the days since a first day as a column of numbers"
        raise KerhrmError(f"{what}; got dates or durations", hint)
    labels = y.nunique()
    if labels < 2:
        problem = (
            f"the target {y.name!r} has one value, {str(y.iloc[0])!r}, in all rows"
        )
        raise KerhrmError(problem, "there is nothing to learn: choose another column")
    if types.is_bool_dtype(y):
        return y.astype(bool)
    if types.is_integer_dtype(y) and max(abs(int(y.min())), int(y.max())) > 2**53:
        problem = f"{what} that float64 can tell apart; got whole numbers beyond 2^53"
        raise KerhrmError(problem, "subtract their least value")
    if types.is_numeric_dtype(y):
        if (infinite := np.isinf(y.astype(float))).any():
            problem = f"the target {y.name!r} must be finite; got {y[infinite].iloc[0]}"
            where = first_row(infinite, y)
            raise KerhrmError(f"{problem} in {where}", "leave such cells empty")
        return y.astype("int64" if types.is_integer_dtype(y) else float)
    if labels > 2:
        shown = listed([str(label) for label in y.unique()])
        almost = almost_numbers(y) if is_text(y) else None
        hint = almost or "merge labels until two are left, or leave their cells empty"
        raise KerhrmError(f"{what}; got {labels} labels, {shown}", hint)
    return y


def _check_labels(y: pd.Series) -> None:
    """Refuse training rows with one label."""
    if y.nunique() < 2:
        problem = f"the target {y.name!r} is {str(y.iloc[0])!r} in all training rows"
        raise KerhrmError(problem, "give more rows with the other label")


def _few(y: pd.Series, tested: pd.Series) -> str | None:
    """Say what is odd about a target, of which some rows are tested."""
    if not is_regression(y):
        counts = y.value_counts()
        absent = [label for label in counts.index if not (tested == label).any()]
        if not absent:
            return None
        rows = counted(int(counts[absent[0]]))
        text = f"{str(absent[0])!r} stands in {rows}, none of which tests"
        return f"{text}: the errors say nothing about it; give more such rows"
    values = sorted(y.unique())
    if len(values) > MAX_CLASSES or (y % 1 != 0).any():
        return None
    shown = ", ".join(f"{value:g}" for value in values)
    return f"it is predicted as a number: if {shown} are classes, merge them into two"


def _auxiliary(table: pd.DataFrame) -> pd.DataFrame:
    """Auxiliary columns: numbers, dates, or categories of text.

    Raises KerhrmError if text is dates, which are no categories.
    """
    columns = {}
    for name, column in table.items():
        kind, values = column_values(column)
        if column.nunique() < 2:
            problem = f"auxiliary column {name!r} is constant"
            raise KerhrmError(problem, "give a column that varies")
        if kind == "text" and (options := date_options(column)):
            problem = f"auxiliary column {name!r} holds dates, as {column.iloc[0]!r}"
            raise KerhrmError(problem, f"add {options}")
        if kind == "text" and (told := almost_dates(column)):
            problem = f"auxiliary column {name!r} must hold dates or categories"
            raise KerhrmError(problem, told)
        columns[name] = values if kind == "text" else column
    return pd.DataFrame(columns, table.index)


def _known_only(
    z: pd.DataFrame, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Test rows whose auxiliary categories some training row has, and notes on others.

    Raises KerhrmError if that leaves less than half of them.
    """
    known, notes = np.ones(len(test), dtype=bool), []
    for name in [name for name, column in z.items() if is_text(column)]:
        values = z[name].iloc[test]
        seen = values.isin(z[name].iloc[train]).to_numpy()
        if seen.mean() < 0.5:
            problem = (
                f"auxiliary column {name!r} has {z[name].nunique()} categories in "
            )
            problem += f"{counted(len(z))}: most test rows have one of their own"
            hint = almost_numbers(z[name]) or "merge them, or give another column"
            raise KerhrmError(problem, hint)
        if not seen.all():
            where = f"{name!r} in no training row"
            notes.append(f"{counted(int((~seen).sum()), 'test row')} with {where}")
        known &= seen
    return test[known], notes
