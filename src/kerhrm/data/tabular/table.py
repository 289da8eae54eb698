"""A data frame as predictors, target and groups, or what is wrong with it in one line."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kerhrm.data.tabular.options import Groups, TabularData, Value
from kerhrm.errors import KerhrmError
from kerhrm.sections import suggest

if TYPE_CHECKING:
    import pandas as pd

#: beyond it a value is a code for a missing one, or in a unit that no table is kept in
LARGEST = 1e20
#: test environments are numbered in eight bits
MOST_GROUPS = 127
FILL = "write missing: drop or missing: impute"
NO_VALUE = "no value"  #: of an imputed categorical cell


@dataclass(frozen=True)
class Table:
    """N rows of a user's table that are complete, or may be imputed.

    Attributes
    ----------
    numbers : DataFrame, (N, ...), float64, NaN where imputation has to fill in
    names : DataFrame, (N, ...), text
    y : ndarray, (N,), float64; -1 / +1 in classification
    group : ndarray, (N,), int64; number of the row's group, -1 of none
    groups : list of str
    facts : dict
        What a reader should know of the reading.
    """

    numbers: "pd.DataFrame"
    names: "pd.DataFrame"
    y: np.ndarray
    group: np.ndarray
    groups: list[str]
    facts: dict[str, Any] = field(default_factory=dict)


def make_table(frame: "pd.DataFrame", options: TabularData, where: str) -> Table:
    """Check a frame, and take it apart; ``where`` begins the errors.

    Raises
    ------
    KerhrmError
        Naming the column and the cure.
    """
    used, numeric, categorical = _columns(frame, options, where)
    told = {n: frame[n] for n in dict.fromkeys([*used, *_grouping(options.groups)])}
    missing = {n: int(c.isna().sum()) for n, c in told.items() if c.isna().any()}
    rows = len(frame)
    if missing and options.missing == "drop":
        frame = frame[frame[list(told)].notna().all(axis=1)]
        if frame.empty:
            raise KerhrmError(
                f"{where}: every row lacks a value somewhere", "write missing: impute"
            )
    refused = missing if options.missing == "refuse" else {}
    strict = [options.target, *_grouping(options.groups)] if options.missing == "impute" else []
    for name in (*refused, *(n for n in strict if n in missing)):
        cure = "write missing: drop" if name in strict else FILL
        first = int(np.flatnonzero(frame[name].isna())[0]) + 1
        problem = f"{where}: column '{name}' has no value in {missing[name]} rows, first in row"
        raise KerhrmError(f"{problem} {first}", cure)
    numbers = frame[[]].copy()
    for name in numeric:
        numbers[name] = to_numbers(frame[name], where, "list it under categorical or drop")
    names = frame[categorical].map(as_text, na_action="ignore").fillna(NO_VALUE).astype(object)
    _informative(numbers, names, where)
    y, positive = _target(frame[options.target], options, where)
    group, groups = _groups(frame, options.groups, where)
    facts = {
        "rows": rows,
        "complete": len(frame),
        "missing": missing,
        "unused": [n for n in frame.columns if n not in told],
        "categories": {n: int(names[n].nunique()) for n in names},
        "deviation": float(y.std()),
    }
    if options.kind == "classification":
        facts |= {"positive": float((y > 0).mean()), "class": positive}
    return Table(numbers, names, y, group, groups, facts)


def to_numbers(column: "pd.Series", where: str, cure: str) -> np.ndarray:
    """A column as float64, NaN where it has no value."""
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    bad = np.flatnonzero(np.isnan(values) & column.notna().to_numpy())
    name = f"{where}: column '{column.name}'"
    if len(bad):
        text = " ".join(str(column.iloc[bad[0]]).split())[:40]
        raise KerhrmError(f"{name} holds '{text}' (row {bad[0] + 1}), which is no number", cure)
    for wrong, what in ((np.isinf(values), "infinite"), (np.abs(values) > LARGEST, "enormous")):
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            problem = f"{name} is {what} ({values[first]:g}) in {wrong.sum()} rows, first in row"
            raise KerhrmError(f"{problem} {first + 1}", f"remove it, or leave it empty and {FILL}")
    return values


def as_text(value: Any) -> str:
    """A value as configurations and files of all kinds would both write it."""
    if isinstance(value, float | np.floating):
        return f"{value:.15g}"
    return " ".join(str(value).split())


def _grouping(groups: Groups) -> list[str]:
    return [groups.column] if groups.column else []


def _columns(
    frame: "pd.DataFrame", options: TabularData, where: str
) -> tuple[list[str], list[str], list[str]]:
    """The columns that are used, and of the predictors the numeric and the categorical ones."""
    columns = list(map(str, frame.columns))
    lists = {
        "target": [options.target],
        "drop": options.drop,
        "only": options.only or [],
        "categorical": options.categorical,
        "groups.column": _grouping(options.groups),
    }
    for key, said in lists.items():
        for name in said:
            if name not in columns:
                raise KerhrmError(f"{where} has no column '{name}' ({key})", suggest(name, columns))
    if options.inject and options.inject.column in columns:
        problem = f"{where} has a column '{options.inject.column}' already"
        raise KerhrmError(problem, "write another inject.column")
    away = {options.target, *options.drop}
    if not options.groups.keep:
        away |= {*_grouping(options.groups)}
    used = [n for n in options.only or columns if n not in away]
    if not used:
        raise KerhrmError(f"{where}: no column is left to predict from", "drop fewer")
    numeric = [n for n in used if n not in options.categorical]
    return [options.target, *used], numeric, [n for n in used if n in options.categorical]


def _informative(numbers: "pd.DataFrame", names: "pd.DataFrame", where: str) -> None:
    """Refuse columns that say nothing, or nothing new."""
    for part in (numbers, names):
        for name in part:
            if part[name].nunique(dropna=False) < 2:
                shown = as_text(part[name].iloc[0])
                problem = f"{where}: column '{name}' is constant ({shown})"
                raise KerhrmError(problem, "list it under drop")
    seen: dict[bytes, str] = {}
    for name in numbers:
        first = seen.setdefault(numbers[name].to_numpy().tobytes(), str(name))
        if first != name:
            problem = f"{where}: column '{name}' repeats column '{first}' in every row"
            raise KerhrmError(problem, "list one of them under drop")


def _target(column: "pd.Series", options: TabularData, where: str) -> tuple[np.ndarray, str]:
    """Numbers, or labels -1 and +1; and the value that is +1."""
    name = f"{where}: target '{options.target}'"
    if options.kind == "regression":
        y = to_numbers(column, where, "give numbers, or write task: classification")
        if np.ptp(y) == 0:
            problem = f"{name} is constant ({y[0]:g})"
            raise KerhrmError(problem, "there is nothing to learn: choose another target")
        return y, ""
    texts = column.map(as_text).to_numpy()
    classes = sorted(set(texts), key=_order)
    if len(classes) < 2:
        raise KerhrmError(f"{name} has only one class, '{classes[0]}'", "add rows of a second one")
    if options.positive is None and len(classes) > 2:
        problem = f"{name} has {len(classes)} classes"
        raise KerhrmError(problem, f"write positive: one of {', '.join(classes[:5])}")
    positive = classes[-1] if options.positive is None else as_text(options.positive)
    if positive not in classes:
        raise KerhrmError(f"{name} is never '{positive}' (positive)", suggest(positive, classes))
    return np.where(texts == positive, 1.0, -1.0), positive


def _order(text: str) -> tuple[float, str]:
    """Numbers by their size, before everything else."""
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def _groups(frame: "pd.DataFrame", groups: Groups, where: str) -> tuple[np.ndarray, list[str]]:
    """The group of each row, -1 of rows that train; and the groups' names."""
    if groups.column is None:
        return np.zeros(len(frame), dtype=np.int64), ["test"]
    column = frame[groups.column]
    if groups.quantile is not None:
        place = _ordered(column, where)
        edge = np.quantile(place, groups.quantile)
        late = place > edge
        if not late.any() or late.all():
            problem = f"{where}: no row is above quantile {groups.quantile:g} of '{groups.column}'"
            raise KerhrmError(problem, "write a smaller groups.quantile")
        name = f"{groups.column} above {groups.quantile:g}"
        return np.where(late, 0, -1), [name]
    texts = column.map(as_text).to_numpy()
    there = sorted(set(texts), key=_order)
    known: list[Value] = list(groups.values or there)
    named = list(dict.fromkeys(map(as_text, known)))
    for name in named:
        if name not in there:
            problem = f"{where}: column '{groups.column}' is never '{name}' (groups.values)"
            raise KerhrmError(problem, suggest(name, there[:20]))
    if len(named) > MOST_GROUPS:
        problem = f"{where}: column '{groups.column}' has {len(named)} values, too many for groups"
        raise KerhrmError(problem, f"choose a column with {MOST_GROUPS} or fewer")
    numbers = {name: number for number, name in enumerate(named)}
    return np.array([numbers.get(text, -1) for text in texts]), [_label(n) for n in named]


def _ordered(column: "pd.Series", where: str) -> np.ndarray:
    """Numbers, or dates as numbers."""
    import pandas as pd

    values = pd.to_numeric(column, errors="coerce")
    if values.notna().all():
        return values.to_numpy(np.float64)
    # no format is guessed: 3/4/2024 may be March or April
    dates = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=True)
    if dates.isna().any():
        text = str(column[dates.isna()].iloc[0])[:40]
        problem = f"{where}: column '{column.name}' holds '{text}', neither number nor date"
        cure = "write dates as 2024-12-31, or groups.values instead of groups.quantile"
        raise KerhrmError(problem, cure)
    return dates.astype("int64").to_numpy(np.float64)


def _label(name: str) -> str:
    """A group's name for the tables, in which commas and bars have a meaning."""
    return name.replace(",", ";").replace("|", "/")
