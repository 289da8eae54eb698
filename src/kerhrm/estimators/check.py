"""From a CSV file to a report.

The estimators on a table as it comes (``kerhrm check``).
"""

import csv
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from kerhrm.errors import FileError, KerhrmError
from kerhrm.estimators import KerhrmWarning
from kerhrm.estimators._data import check_values, first_row
from kerhrm.estimators._report import Report
from kerhrm.estimators.columns import table_encoder
from kerhrm.estimators.kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.options import suggest

ARCHIVES = {
    b"PK\x03\x04": "zip",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
TEST_SHARE = 0.3
MIN_ROWS = 20
#: R^2 or balanced accuracy of a single column, from which it gives the target away
GIVEN_AWAY = 0.99
MAX_SEARCHED = 2000  #: rows that are searched for such columns


def read_table(
    path: Path,
    *,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    dates: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a CSV file; ``sep`` is found out by default, ``dates`` are columns of dates.

    Raises
    ------
    KerhrmError
        If there is no such file, it is no table of text, or a column has no name, the
        name of another, or a value that is no date.
    """
    try:
        with path.open("rb") as file:
            start = file.read(2**16)
    except OSError as error:
        raise FileError(
            f"{path}: {error.strerror}", "give the path of a CSV file"
        ) from error
    for magic, kind in ARCHIVES.items():
        if start.startswith(magic):
            raise KerhrmError(
                f"{path} is a {kind} archive, not a CSV file", "unpack it"
            )
    if b"\0" in start:
        problem = f"{path} has NUL bytes: it is not text, or its encoding is UTF-16"
        raise KerhrmError(problem, "try --encoding utf-16, or save it as CSV")
    if sep is not None and len(sep) != 1:
        raise KerhrmError(
            f"--sep must be one character; got {sep!r}", "use ',', ';' or a tab"
        )
    read: dict[str, Any] = {"encoding": encoding, "skipinitialspace": True}
    try:
        read["sep"] = sep or _separator(start.decode(encoding, errors="ignore"))
        names = pd.read_csv(path, header=None, nrows=1, dtype=str, **read).iloc[0]
        table = pd.read_csv(path, decimal=decimal, low_memory=False, **read)
    except pd.errors.EmptyDataError as error:
        raise KerhrmError(
            f"{path} is empty", "give a CSV file with a header and rows"
        ) from error
    except (UnicodeError, LookupError) as error:
        problem = f"{path} cannot be read as {encoding}"
        raise KerhrmError(problem, "try --encoding latin-1") from error
    except (ValueError, TypeError) as error:  # of pandas' parsers
        problem = f"{path}: {' '.join(str(error).split())}"
        raise KerhrmError(problem, "see --sep, --decimal, --encoding") from error
    if nameless := int(names.isna().sum()):
        raise KerhrmError(
            f"{path}: {nameless} columns have no name", "name them in the first line"
        )
    if (twice := names[names.duplicated()]).size:
        raise KerhrmError(
            f"{path}: two columns are called {twice.iloc[0]!r}", "rename one of them"
        )
    if len(names) == 1:
        problem = (
            f"{path} has one column, {names[0][:40]!r}, separated by {read['sep']!r}"
        )
        raise KerhrmError(problem, "set --sep, for example --sep ';'")
    for name in dates:
        check_column(name, table)
        text = table[name].astype("string")  # 2024 is a year, not nanoseconds
        times = pd.to_datetime(text, errors="coerce", utc=True, format="mixed")
        if (wrong := times.isna() & table[name].notna()).any():
            where = f"'{table[name][wrong].iloc[0]}' in {first_row(wrong, table)}"
            problem = f"column {name!r} must hold dates; got {where}"
            raise KerhrmError(
                problem, "write dates as 2024-12-31, or leave it out of --dates"
            )
        table[name] = times
    return table


class Checked(NamedTuple):
    """A fitted KerHRM, its report on test rows, and these rows as it reads them."""

    model: KerHRMClassifier | KerHRMRegressor
    report: Report
    X_test: pd.DataFrame
    y_test: pd.Series


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
        Columns of any kind, see :func:`kerhrm.table_encoder`.
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
    others = [*auxiliary, *([] if group is None else [group]), *drop]
    for name in (target, *others):
        check_column(name, table)
    if target in others:
        problem = (
            f"column {target!r} is the target, and cannot be dropped, a group or "
            "auxiliary"
        )
        raise KerhrmError(problem, "name it only once")
    rows = table[table[[target, *auxiliary]].notna().all(axis=1)]
    if len(rows) < MIN_ROWS:
        problem = f"{len(rows)} of {len(table)} rows have a target and auxiliary values"
        raise KerhrmError(problem, f"give {MIN_ROWS} such rows or more")
    y, features = (
        rows[target],
        rows.drop(columns=list(dict.fromkeys([target, *others]))),
    )
    if not features.shape[1]:
        raise KerhrmError("no column is left that predicts", "drop fewer columns")
    numbers = features.select_dtypes("number").astype(float)
    check_values(
        numbers.fillna(0).to_numpy(), [f"column {name!r}" for name in numbers], rows
    )
    regression = pd.api.types.is_numeric_dtype(y) and y.nunique() > 2
    if not regression and y.nunique() > 2:
        problem = (
            f"the target {target!r} must be numbers or two labels; got "
            f"{y.nunique()} labels"
        )
        raise KerhrmError(problem, "merge labels until two are left")
    few = not regression and y.value_counts().min() < 2
    train, test = train_test_split(
        np.arange(len(rows)),
        test_size=TEST_SHARE,
        random_state=random_state,
        stratify=None if regression or few else y,
    )
    encoder = table_encoder()
    X, X_test = (
        encoder.fit_transform(features.iloc[train]),
        encoder.transform(features.iloc[test]),
    )
    kind = KerHRMRegressor if regression else KerHRMClassifier
    model = kind(n_environments=n_environments, random_state=random_state)
    z = rows[list(auxiliary)]
    parts = [
        {"auxiliary": z.iloc[part]} if len(auxiliary) else {} for part in (train, test)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KerhrmWarning)  # the report says so
        model.fit(X, y.iloc[train], **parts[0])
    groups = (
        None
        if group is None
        else rows[group].astype("string").fillna("missing").iloc[test]
    )
    report = model.report(X_test, y.iloc[test], groups, **parts[1])
    facts = {
        "rows": f"{len(train)} train, {len(test)} test, "
        f"{X.shape[1]} columns after encoding"
    }
    if left_out := len(table) - len(rows):
        facts["left out"] = f"{left_out} rows without a target or auxiliary value"
    facts |= report.facts | {
        f"column {name!r}": text for name, text in oddities(features, y)
    }
    return Checked(model, Report(report.errors, facts), X_test, y.iloc[test])


def oddities(features: pd.DataFrame, y: pd.Series) -> Iterator[tuple[str, str]]:
    """Columns that probably should not predict as they are, and why."""
    searched = features.index[:: 1 + len(features) // MAX_SEARCHED]
    target = y.loc[searched]
    regression = pd.api.types.is_numeric_dtype(y) and y.nunique() > 2
    tree = (DecisionTreeRegressor if regression else DecisionTreeClassifier)(
        random_state=0
    )
    score = "r2" if regression else "balanced_accuracy"
    for name, column in features.items():
        known = column.dropna()
        numeric = pd.api.types.is_numeric_dtype(column)
        if known.nunique() < 2:
            yield str(name), "it is constant; --drop it"
        elif (
            not numeric
            and known.astype(str).str.fullmatch(r"-?[\d.]*,\d+").mean() > 0.9
        ):
            yield str(name), "it looks like numbers with a decimal comma: --decimal ,"
        elif column.dtype.kind in "OSU" and _dates(known):
            yield str(name), f"it looks like dates: --dates {name}"
        elif known.nunique() == len(features) and column.dtype.kind not in "fM":
            yield str(name), "it differs in every row: an identifier? --drop it"
        elif numeric and (code := _sentinel(known)) is not None:
            yield (
                str(name),
                f"{code:g} stands apart: does it mean missing? leave such cells empty",
            )
        codes = column if numeric else pd.Series(pd.factorize(column)[0], column.index)
        part = codes.loc[searched].astype(float).fillna(codes.min() - 1).to_frame()
        if target.value_counts().min() < 5 and not regression:
            continue
        if cross_val_score(tree, part, target, cv=5, scoring=score).mean() > GIVEN_AWAY:
            yield (
                str(name),
                "it gives the target away; --drop it unless it is known beforehand",
            )


def _separator(start: str) -> str:
    """Separator of the columns; a comma if nothing else separates them."""
    line = start.partition("\n")[0]
    try:
        return csv.Sniffer().sniff(line, delimiters=",;\t|").delimiter
    except csv.Error:
        return ","


def check_column(name: str, table: pd.DataFrame) -> None:
    """Refuse a column that a table does not have."""
    if name not in table:
        raise KerhrmError(
            f"column {name!r} does not exist", suggest(name, list(map(str, table)))
        )


def _sentinel(column: pd.Series) -> float | None:
    """A code such as -999: repeated, and farther from all others than they are from
    each other."""
    for value in {column.min(), column.max()}:
        others = column[column != value]
        alone = (
            re.fullmatch(r"-?9+(\.0)?|-1(\.0)?", str(value))
            and (column == value).sum() > 1
        )
        gap = np.abs(others - value).min()
        if alone and others.nunique() > 1 and gap > others.max() - others.min():
            return float(value)
    return None


def _dates(column: pd.Series) -> bool:
    times = pd.to_datetime(
        column[:100].astype(str), errors="coerce", format="mixed", utc=True
    )
    return bool(times.notna().all())
