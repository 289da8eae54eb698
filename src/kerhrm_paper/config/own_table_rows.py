"""Do the keys of the target ``own_table`` fit the columns and rows of its file?

The library's rules for rows import PyTorch, so a plan imports this only if it is asked
for the table.
"""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from kerhrm.errors import MANY, KerhrmError, known_are, shown
from kerhrm.estimators.kerhrm import KerHRMRegressor
from kerhrm.files import quoted
from kerhrm.given import LARGEST
from kerhrm.options import Task
from kerhrm.tables.cells import text_of
from kerhrm.tables.columns import check_exact, texts, without_names_of_rows
from kerhrm.tables.csv import read_names, read_table
from kerhrm.tables.draws import draw_rows
from kerhrm.tables.held_out import validation_size
from kerhrm.tables.index import first_row
from kerhrm.tables.oddities import is_regression
from kerhrm.tables.shares import MOST_TRAINING, TEST_SHARE
from kerhrm.tables.wording import counted, listed
from kerhrm_paper.config.fields import nearest
from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.config.own_table_names import write_otherwise, written

FLAG = re.compile(r"(?<!\S)--[a-z]")  #: an option of ``kerhrm check`` in a hint


def check_file(keys: OwnTable) -> None:
    """Refuse a file that is no table, and keys that its rows do not fit.

    Raises KerhrmError, in one line.
    """
    path = Path(keys.csv)
    try:
        _check_columns(keys, read_names(path))
        check_table(keys, read_table(path))
    except KerhrmError as error:
        raise _without_flags(keys, error) from error


def check_table(keys: OwnTable, table: pd.DataFrame) -> None:
    """Refuse keys that the table's columns and rows do not fit.

    Raises KerhrmError, in one line.
    """
    columns = [str(column) for column in table.columns]
    _check_columns(keys, columns)
    has_value = table[keys.target].notna()
    rows = table[has_value]
    if rows.empty:
        problem = f"target={keys.target}: no row has a value"
        raise KerhrmError(problem, "choose another column")
    target = rows[keys.target]
    is_held_out = np.zeros(len(rows), dtype=bool)
    if keys.group is not None:
        absent = table.attrs.get("absent", {}).get(keys.group, [])
        _check_every_group(keys, rows[keys.group], absent)
    if keys.held_out:
        groups = texts(rows[keys.group])
        _check_groups(keys, groups)
        is_held_out = np.isin(groups, _held_out_groups(keys))
    learned = target[~is_held_out]
    features = _features(keys, rows)
    _check_described(keys, features)
    _check_enormous(keys, rows)
    _check_constant(keys, learned)
    _check_target(keys, target)
    _check_size(keys, len(learned), _n_training(len(learned), keys.test_share))
    _check_draw(keys, features, target, is_held_out)


def _without_flags(keys: OwnTable, error: KerhrmError) -> KerhrmError:
    """The error with a hint that own_table can follow: it has no --encoding."""
    hint = error.hint
    if not FLAG.search(hint or ""):
        return error
    command = f"kerhrm check {quoted(keys.csv)}"
    cure = "save it in UTF-8 with commas between cells and decimal points"
    return KerhrmError(error.problem, f"{cure}, or use {command}, there {hint}")


def _check_columns(keys: OwnTable, columns: list[str]) -> None:
    """Refuse names of columns that are not there."""
    for key in ("target", "group", "categorical", "drop"):
        given = getattr(keys, key) or []
        if isinstance(given, str):
            given = [given]
        for name in given:
            if name not in columns:
                problem = f"{key}={name}: {keys.csv} has no such column"
                hint = write_otherwise(key, given, name, columns)
                raise KerhrmError(problem, hint or nearest(name, columns))


def _features(keys: OwnTable, rows: pd.DataFrame) -> pd.DataFrame:
    """Columns that predict, as the notebook has them; refuse a table without."""
    unused = {keys.target, keys.group, *keys.drop}
    used = [column for column in rows.columns if column not in unused]
    if used:
        return rows[used].astype(dict.fromkeys(keys.categorical, str))
    problem = f"no column of {keys.csv} is left to predict from"
    if keys.drop:
        problem = f"drop={', '.join(keys.drop)}: {problem}"
        raise KerhrmError(problem, "drop fewer")
    raise KerhrmError(problem, "add columns")


def _check_described(keys: OwnTable, features: pd.DataFrame) -> None:
    """Refuse columns of text that names rows, without one that describes them."""
    try:
        without_names_of_rows(features)
    except KerhrmError as error:
        raise KerhrmError(f"csv={keys.csv}: {error.problem}", error.hint) from error


def _check_enormous(keys: OwnTable, rows: pd.DataFrame) -> None:
    """Refuse numbers that no estimator takes, in columns that are used."""
    unused = {keys.group, *keys.drop, *keys.categorical}
    for name, column in rows.select_dtypes("float").items():
        enormous = column.abs() >= LARGEST
        if name in unused or not enormous.any():
            continue
        value = column[enormous].iloc[0]
        where = first_row(enormous, column)
        problem = f"column {name!r} holds {value:g} in {where}"
        hint = "correct or empty the cell"
        if name != keys.target:
            hint += f", or leave the column out: {written('drop', [str(name)])}"
        raise KerhrmError(f"{keys.csv}: {problem}", hint)


def _check_every_group(
    keys: OwnTable, column: pd.Series, absent: Sequence[str]
) -> None:
    """Refuse rows without a group, whose errors would stand nowhere.

    The column may have words that were read as missing, in these rows or in those
    without a target: ``absent``.
    """
    is_missing = column.isna()
    if not is_missing.any():
        return
    empty = counted(int(is_missing.sum()))
    first = first_row(is_missing, column)
    problem = f"group={keys.group} is empty in {empty}, the first is {first}"
    hint = "give each row a group, or leave group out"
    if absent:
        words = listed(absent)
        # in which rows is not known, and rows without a target do not count
        problem = f"{problem}; {words} in the column is read as missing, too"
        hint = f"write a word as 'other' for {words}, and {hint}"
    raise KerhrmError(problem, hint)


def _held_out_groups(keys: OwnTable) -> list[str]:
    """Groups to hold out, spelled as those of a column: 2001.0 is 2001."""
    return [text_of(name) for name in keys.held_out]


def _check_groups(keys: OwnTable, groups: np.ndarray) -> None:
    """Refuse groups to hold out that no row has, or that are all there are."""
    held_out = _held_out_groups(keys)
    known = sorted(set(groups))
    for given, group in zip(keys.held_out, held_out, strict=True):
        if group not in known:
            hint = nearest(group, known)
            spellings = {name.casefold() for name in known}
            if len(known) <= MANY and group.casefold() not in spellings:
                hint = known_are(known)
            problem = f"held_out={given}: no row has this {keys.group}"
            write = write_otherwise("held_out", keys.held_out, given, known)
            raise KerhrmError(problem, write or hint)
    if set(known) <= set(held_out):
        problem = f"held_out={', '.join(keys.held_out)}: no other group is left"
        raise KerhrmError(problem, "hold fewer out")


def _check_constant(keys: OwnTable, learned: pd.Series) -> None:
    """Refuse a target that is constant outside of the groups held out."""
    if learned.nunique() >= 2:
        return
    value = shown(learned.iloc[0])
    if keys.held_out:
        problem = "all rows outside of the groups held out have one value"
        hint = "choose another column, or hold fewer out"
    else:
        problem = "all rows have one value"
        hint = "choose another column"
    raise KerhrmError(f"target={keys.target}: {problem}, {value}", hint)


def _check_target(keys: OwnTable, target: pd.Series) -> None:
    """Refuse a target that does not fit the task."""
    n_values = target.nunique()
    task = keys.task or _looks_like(target)
    given = f"task={task}: " if keys.task else ""
    must = f"{given}target={keys.target} must hold"
    numbers = pd.to_numeric(target, errors="coerce")
    text = target[numbers.isna()]
    if task == "regression" and len(text):
        hint = "choose another target="
        if n_values == 2:
            hint = "set task=classification"
        first = shown(text.iloc[0])
        raise KerhrmError(f"{must} numbers; got {first}", hint)
    if task == "regression":
        check_exact(target, f"target={keys.target}")
    if task == "classification" and n_values > 2:
        hint = "recode it, or choose a target= of two labels or of numbers"
        if is_regression(target):
            hint = "set task=regression"
        elif 0 < len(text) < len(target) / 2:
            first = shown(text.iloc[0])
            hint = f"correct cells that are no numbers, as {first}"
        raise KerhrmError(f"{must} two labels; got {n_values}", hint)


def _check_draw(
    keys: OwnTable, features: pd.DataFrame, target: pd.Series, held_out: np.ndarray
) -> None:
    """Refuse what the rows that are drawn to train do not fit.

    Features (n, d) and a target (n,) are of all rows with a target.
    """
    task = keys.task or _looks_like(target)
    options = {"most": MOST_TRAINING, "seed": keys.seed}
    draw = partial(draw_rows, features, target, task, held_out, **options)
    try:
        train, _ = draw(share=keys.test_share)
    except KerhrmError as error:
        hint = error.hint
        if keys.held_out:
            hint = f"hold fewer out, or {hint}"
        if keys.test_share > TEST_SHARE:
            with suppress(KerhrmError):
                draw(share=TEST_SHARE)
                hint = f"set test_share={TEST_SHARE}"
        raise KerhrmError(f"csv={keys.csv}: {error.problem}", hint) from error
    _check_described(keys, features.iloc[train])
    n_learned = len(target) - int(held_out.sum())
    _check_size(keys, n_learned, len(train))


def _looks_like(target: pd.Series) -> Task:
    """What a target is learned as, if no task is given."""
    return "regression" if is_regression(target) else "classification"


def _check_size(keys: OwnTable, n: int, n_training: int) -> None:
    """Refuse a share for the test, or environments, for which n rows are too few.

    An environment needs two of the ``n_training`` rows that are left and of which some
    validate.
    """
    most = _most_environments(n_training)
    if keys.n_environments <= most:
        return
    problem = (
        f"{n_training} of {n} rows are left to train on, too few for "
        f"n_environments={keys.n_environments}"
    )
    most_by_default = _most_environments(_n_training(n, TEST_SHARE))
    if keys.test_share > TEST_SHARE and most_by_default >= keys.n_environments:
        problem = f"test_share={keys.test_share:g}: {problem}"
        raise KerhrmError(problem, f"set test_share={TEST_SHARE}")
    if most >= 2:
        raise KerhrmError(problem, f"set n_environments={most}")
    hint = "give a file of more rows"
    if keys.held_out:
        hint = f"hold fewer out, or {hint}"
    raise KerhrmError(f"csv={keys.csv}: {problem}", hint)


def _n_training(n: int, test_share: float) -> int:
    """Rows of n that are left for training."""
    return n - math.ceil(test_share * n)


def _most_environments(n_training: int) -> int:
    """Environments that so many rows allow."""
    estimator = KerHRMRegressor()
    n_validation = validation_size(n_training, estimator.validation_fraction)
    n_learning = max(0, n_training - n_validation)
    return n_learning // 2
