"""KerHRM fitted to most rows of a table, and its report on the others."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kerhrm.check.columns import (
    Roles,
    complete_rows,
    plain_name,
    read_auxiliary,
    read_target,
    task_of,
)
from kerhrm.errors import KerhrmError, KerhrmWarning
from kerhrm.estimators._parameters import draw_seed
from kerhrm.estimators._report import Report
from kerhrm.estimators.kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.options import Task
from kerhrm.tables.almost import almost_numbers
from kerhrm.tables.cells import is_text, read_cells
from kerhrm.tables.columns import (
    ADD,
    NAMES_ROWS,
    column_values,
    columns_that_name_rows,
    indistinct,
    named,
    table_encoder,
    texts,
)
from kerhrm.tables.copies import copied, repeated, split
from kerhrm.tables.dates import digit_dates
from kerhrm.tables.oddities import (
    misread,
    missing_code,
    notes_of,
    oddities,
    without_notes,
)
from kerhrm.tables.polars import of_pandas
from kerhrm.tables.spelling import doubtful_words
from kerhrm.tables.wording import counted

TEST_SHARE = 0.3
LEFT_OUT = "left out"  #: begins the remark on a column of text that names rows
MOST_DOUBTS = 5  #: columns that the line on odd ones names
MAX_CLASSES = 5  #: whole numbers of a target that may be classes
OWN_GROUPS = (
    "every test row is a group of its own: errors of one row say little; "
    "give a column that several rows share"
)


class Checked(NamedTuple):
    """A fitted KerHRM, its report on test rows, and these rows as it reads them."""

    model: KerHRMClassifier | KerHRMRegressor
    report: Report
    X_test: pd.DataFrame
    y_test: pd.Series
    auxiliary_test: pd.DataFrame | None  #: None: there is no auxiliary column

    @property
    def doubts(self) -> str | None:
        """One line on columns that look wrong, as all that was found may hang on
        them."""
        start = "column "
        names = [
            fact.removeprefix(start)
            for fact, text in self.report.facts.items()
            if fact.startswith(start) and not text.startswith(LEFT_OUT)
        ]
        if not names:
            return None
        some = ", ".join(names[:MOST_DOUBTS])
        if len(names) > MOST_DOUBTS:
            some += ", ..."
        return f"first read the remarks on {some} below: all of this may hang on them"


def check(  # noqa: PLR0913  (options of the command)
    table: Any,
    target: str,
    *,
    auxiliary: str | Sequence[str] | None = (),
    group: str | None = None,
    drop: str | Sequence[str] | None = (),
    n_environments: int | None = None,
    task: str | None = None,
    random_state: Any = 0,
) -> Checked:
    """Fit KerHRM to 70 % of a table's rows, drawn at random, and report on the others.

    Parameters
    ----------
    table : DataFrame
        Of pandas or polars, columns of any kind, see :func:`kerhrm.table_encoder`.
        Cells of text are read as those of a file.
    target : str
        Column that is predicted: numbers, or two labels.
    auxiliary : str or sequence of str, optional
        Columns that environments are functions of; they do not predict.
    group : str, optional
        Column whose values are compared on test rows; it does not predict.
    drop : str or sequence of str, optional
        Columns that are not used.
    n_environments : int, optional
        K; by default 2 of two labels without auxiliary columns, for which the guard was
        measured (docs/studies.md), else 1 to 5, by held-out likelihood.
    task : {"classification", "regression"}, optional
        By default a regression of more than two numbers, else a classification.
    random_state : int, RandomState or None, default=0
        Seed.

    Raises
    ------
    KerhrmError
        If a column is not there or cannot be used, there are too few rows, or an
        argument is of another kind.
    """
    seed = draw_seed(random_state)
    if not 0 <= seed < 2**32:
        problem = f"random_state must be at least 0 and below 2^32; got {seed}"
        raise KerhrmError(problem, "use random_state=0")
    roles = Roles.named(target, auxiliary, group, drop)
    table = of_pandas(table)
    data = _Data.read(table, roles, task)
    y, z = data.y, data.z
    groups_alike = data.copies | data.repeated
    regression = data.task == "regression"
    labels = None if regression else y
    train, test = split(data.features, labels, groups_alike, TEST_SHARE, seed)
    test, left_out = _known_only(z, train, test)
    if labels is not None:
        _check_labels(y.iloc[train])
    groups = None
    if roles.group is not None:
        groups = pd.Series(
            texts(data.rows[roles.group]), data.rows.index, name=roles.group
        )
        groups = groups.iloc[test]
    encoder = table_encoder().fit(data.features.iloc[train])
    kind = KerHRMRegressor if regression else KerHRMClassifier
    if n_environments is None and not (regression or roles.auxiliary):
        n_environments = 2
    model = kind(n_environments=n_environments, random_state=seed)
    of_train, of_test = {}, {}
    if roles.auxiliary:
        of_train["auxiliary"] = z.iloc[train]
        of_test["auxiliary"] = z.iloc[test]
    with warnings.catch_warnings():
        # the report says so, and test rows drawn at random reach a little further
        warnings.simplefilter("ignore", KerhrmWarning)
        X = encoder.transform(data.features.iloc[train])
        X_test = encoder.transform(data.features.iloc[test])
        model.fit(X, y.iloc[train], **of_train)
        report = model.report(X_test, y.iloc[test], groups, **of_test)
    columns = f"{counted(X.shape[1], 'column')} after encoding"
    facts = {"rows": f"{len(train)} train, {len(test)} test, {columns}"}
    facts |= _facts_of_rows(data, train, len(table), left_out)
    facts |= report.facts
    facts |= _facts_of_columns(data, roles, table, test=test, groups=groups)
    return Checked(
        model=model,
        report=Report(report.errors, facts),
        X_test=X_test,
        y_test=y.iloc[test],
        auxiliary_test=z.iloc[test] if roles.auxiliary else None,
    )


class _Data(NamedTuple):
    """Rows of a table that are used, and what is known of them.

    Attributes
    ----------
    rows : DataFrame
        With a target and auxiliary values, all columns.
    features : DataFrame
        Columns that predict.
    y : Series
        Target.
    z : DataFrame
        Auxiliary columns.
    copies, repeated : ndarray, (n,), bool
        Rows that occur more than once; that others equal but for the target.
    notes : dict
        On columns, by name.
    left_out : DataFrame
        Columns of text that names rows, which do not predict.
    task : {"classification", "regression"}
        What is learned.
    """

    rows: pd.DataFrame
    features: pd.DataFrame
    y: pd.Series
    z: pd.DataFrame
    copies: np.ndarray
    repeated: np.ndarray
    notes: dict[Any, str]
    left_out: pd.DataFrame
    task: Task

    @classmethod
    def read(cls, table: pd.DataFrame, roles: Roles, task: str | None) -> "_Data":
        """Read a table; KerhrmError if a column cannot be used, or none predicts."""
        if isinstance(table, pd.DataFrame):
            table = table.set_axis(table.columns.map(plain_name), axis=1)
        cells = read_cells(without_notes(named(table, "table")))
        rows = complete_rows(cells.table, roles.target, roles.others, roles.auxiliary)
        n_empty = int(cells.table[roles.target].isna().sum())
        y = read_target(rows[roles.target], n_empty)
        learned = task_of(y, task)
        if learned == "regression":
            y = y.astype(float) if y.dtype.kind == "b" else y
        z = read_auxiliary(rows[roles.auxiliary])
        features = rows.drop(columns=list({roles.target, *roles.others}))
        if not features.shape[1]:
            options = " and ".join(roles.options)
            hint = f"name fewer columns in {options}" if options else "add columns"
            raise KerhrmError("no column is left that predicts", hint)
        indistinct_names = [
            name for name, column in features.items() if indistinct(column)
        ]
        for name in indistinct_names:  # identifiers, as are those beyond 64 bits
            texts_of_name = features[name].astype(object).map(str, na_action="ignore")
            features[name] = texts_of_name
            note = "its whole numbers are too large for float64: each is a category"
            before = cells.notes.get(name)
            cells.notes[name] = f"{before}; {note}" if before else note
        features, left_out = _without_names_of_rows(features)
        return cls(
            rows=rows,
            features=features,
            y=y,
            z=z,
            copies=copied(features, y),
            repeated=repeated(features),
            notes=cells.notes,
            left_out=left_out,
            task=learned,
        )


def _without_names_of_rows(
    features: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns that predict, and those of text that names rows.

    The encoder would leave these out, too.  They go before rows are compared, so that
    the fit is the one that it is without them.
    """
    names = columns_that_name_rows(features)
    kept = features.drop(columns=names)
    if not kept.shape[1]:
        raise KerhrmError(f"no column is left that predicts: {NAMES_ROWS}", ADD)
    return kept, features[names]


def _facts_of_rows(
    data: _Data, train: np.ndarray, n_rows: int, left_out: list[str]
) -> dict[str, str]:
    """Facts on rows that are left out, lack cells, or stand more than once in the
    table."""
    facts = {}
    n_missing = n_rows - len(data.rows)
    if n_missing:
        what = "a target or auxiliary value" if data.z.shape[1] else "a target"
        text = f"{counted(n_missing)} without {what}"
        left_out = [*left_out, text]
    if left_out:
        facts["left out"] = ", ".join(left_out)
    facts |= _missing(data.features.iloc[train])
    n_copies = int(data.copies.sum())
    if n_copies:
        text = f"{counted(n_copies)} occur more than once"
        facts["copies"] = f"{text}; all copies of a row train, or all test"
    n_repeated = int((data.repeated & ~data.copies).sum())
    if n_repeated:
        text = f"{counted(n_repeated)} differ from others in the target alone"
        facts["repeated rows"] = f"{text}; such rows all train, or all test"
    return facts


def _missing(features: pd.DataFrame) -> dict[str, str]:
    """Fact on missing cells of the rows that train."""
    empty = features.isna().sum()
    empty = empty[empty > 0]
    if empty.empty:
        return {}
    text = f"{empty.idxmax()!r} in {empty.max()} of {counted(len(features))} that train"
    if len(empty) == 1:
        return {"missing": f"{text}; a further column says where"}
    text = f"{counted(len(empty), 'column')}, most of all {text}"
    return {"missing": f"{text}; of each a further column says where"}


def _facts_of_columns(
    data: _Data,
    roles: Roles,
    table: pd.DataFrame,
    *,
    test: np.ndarray,
    groups: pd.Series | None,
) -> dict[str, str]:
    """What is odd about columns."""
    notes = notes_of(table) | data.notes
    data.features.attrs["notes"] = notes
    odd = dict(oddities(data.features, data.y, data.task == "regression"))
    for name, column in data.left_out.items():
        left_out = f"{LEFT_OUT}: {NAMES_ROWS}"
        hint = misread(column) if is_text(column) else None
        odd[str(name)] = f"{left_out}; {hint}" if hint else left_out
    for name in dict.fromkeys((roles.target, *roles.others)):
        column = data.rows[name]
        if name in roles.drop:
            continue
        remarks: list[Any] = [notes.get(name), missing_code(column)]
        almost = almost_numbers(column) if is_text(column) else None
        if name in roles.auxiliary:
            remarks += [digit_dates(column), almost]
        if not almost and column_values(column)[0] == "text":
            remarks.append(doubtful_words(column))
        if name == roles.target:
            remarks.append(_few(data.y, data.y.iloc[test], data.task))
            remarks.append(_dates_in_digits(data.y))
        if name == roles.group and groups is not None and groups.is_unique:
            remarks.append(OWN_GROUPS)
        remarks = [remark for remark in remarks if remark]
        if remarks:
            odd[name] = "; ".join(remarks)
    return {f"column {name!r}": text for name, text in odd.items()}


def _dates_in_digits(y: pd.Series) -> str | None:
    """Remark on a target whose digits are dates."""
    digits = digit_dates(y)
    if not digits:
        return None
    what, _, _ = digits.partition(":")
    return f"{what}: give the days since a first day"


def _check_labels(y: pd.Series) -> None:
    """Refuse training rows with one label."""
    if y.nunique() < 2:
        problem = f"the target {y.name!r} is {str(y.iloc[0])!r} in all training rows"
        raise KerhrmError(problem, "give more rows with the other label")


def _few(y: pd.Series, tested: pd.Series, task: Task) -> str | None:
    """Say what is odd about a target, of which some rows are tested."""
    if task == "classification":
        counts = y.value_counts()
        for label, count in counts.items():
            if not (tested == label).any():
                rows = counted(int(count))
                text = f"{str(label)!r} stands in {rows}, none of which tests"
                return f"{text}: the errors say nothing about it; give more such rows"
        return None
    numbers = sorted(y.unique())
    if len(numbers) > MAX_CLASSES or (y % 1 != 0).any():
        return None
    shown = ", ".join(f"{number:g}" for number in numbers)
    return f"it is predicted as a number: if {shown} are classes, merge them into two"


def _known_only(
    z: pd.DataFrame, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Test rows whose auxiliary categories some training row has, and notes on others.

    Raises KerhrmError if that leaves less than half of them.
    """
    known = np.ones(len(test), dtype=bool)
    notes = []
    for name, column in z.items():
        if not is_text(column):
            continue
        of_train = column.iloc[train]
        seen = column.iloc[test].isin(of_train).to_numpy()
        if seen.mean() < 0.5:
            categories = f"{column.nunique()} categories in {counted(len(z))}"
            problem = f"auxiliary column {name!r} has {categories}"
            hint = almost_numbers(column) or "merge them, or give another column"
            raise KerhrmError(f"{problem}: most test rows have one of their own", hint)
        if not seen.all():
            n_unseen = int((~seen).sum())
            rows = counted(n_unseen, "test row")
            notes.append(f"{rows} with {name!r} in no training row")
        known &= seen
    return test[known], notes
