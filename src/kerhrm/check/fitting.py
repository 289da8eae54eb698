"""KerHRM fitted to most rows of a table, and its report on the others."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kerhrm.check.columns import Roles
from kerhrm.check.facts import LEFT_OUT, facts_of_columns, facts_of_rows
from kerhrm.check.table import CheckedTable, without
from kerhrm.check.warned import WARNING, recorded, with_warnings
from kerhrm.errors import KerhrmError
from kerhrm.estimators._parameters import draw_seed
from kerhrm.estimators._report import Report
from kerhrm.estimators.kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.tables.almost import almost_numbers
from kerhrm.tables.cells import is_text
from kerhrm.tables.columns import texts
from kerhrm.tables.copies import split
from kerhrm.tables.draws import check_varies
from kerhrm.tables.encoder import table_encoder
from kerhrm.tables.polars import of_pandas
from kerhrm.tables.shares import TEST_SHARE
from kerhrm.tables.wording import counted

MOST_DOUBTS = 5  #: columns that the line on odd ones names


class Checked(NamedTuple):
    """A fitted KerHRM, its report on test rows, and these rows as it reads them."""

    model: KerHRMClassifier | KerHRMRegressor
    report: Report
    X_test: pd.DataFrame
    y_test: pd.Series
    auxiliary_test: pd.DataFrame | None  #: None: there is no auxiliary column

    @property
    def doubts(self) -> str | None:
        """One line on columns that look wrong and on warnings, as all that was found
        may hang on them."""
        start = "column "
        facts = self.report.facts
        names = [
            fact.removeprefix(start)
            for fact, text in facts.items()
            if fact.startswith(start) and text != LEFT_OUT
        ]
        below = []
        if names:
            some = ", ".join(names[:MOST_DOUBTS])
            if len(names) > MOST_DOUBTS:
                some += ", ..."
            below.append(f"the remarks on {some}")
        if any(fact.startswith(WARNING) for fact in facts):
            below.append("the warnings")
        if not below:
            return None
        first = " and ".join(below)
        return f"first read {first} below: all of this may hang on them"


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
        K; by default 2 of two labels, for which the guard was measured
        (docs/studies.md), and with auxiliary columns, else 1 to 5, by held-out
        likelihood.
    task : {"classification", "regression"}, optional
        By default a regression of more than two numbers, else a classification.
    random_state : int, RandomState or None, default=0
        Seed.

    Returns
    -------
    Checked
        The fitted ``model``, its ``report`` on test rows, and these rows as it reads
        them: ``X_test``, ``y_test``, ``auxiliary_test``.

    Raises
    ------
    KerhrmError
        If a column is not there or cannot be used, there are too few rows, or an
        argument is of another kind.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kerhrm.check import check
    >>> random = np.random.default_rng(0)
    >>> table = pd.DataFrame(random.normal(size=(120, 2)), columns=["a", "price"])
    >>> with warnings.catch_warnings(action="ignore"):  # none are detected
    ...     checked = check(table, "price")
    >>> checked.model.predictor_, len(checked.y_test)
    ('erm', 36)
    """
    seed = _seed(random_state)
    roles = Roles.named(target, auxiliary, group, drop)
    table = of_pandas(table)
    data = CheckedTable.read(table, roles, task)
    drawn = _drawn(data, roles.group, seed)
    encoded = _encoded(data.features, drawn)
    fitted = _fitted(data, drawn, encoded, n_environments)
    facts = _facts(table, roles, data, drawn, encoded, fitted)
    return Checked(
        model=fitted.model,
        report=Report(fitted.report.errors, facts),
        X_test=encoded.X_test,
        y_test=data.y.iloc[drawn.test],
        auxiliary_test=_auxiliary(data, drawn.test),
    )


class Drawn(NamedTuple):
    """Rows that train and that test.

    Attributes
    ----------
    train, test : ndarray, (n_train,), (n_test,), int64
        Their numbers.
    groups : Series, (n_test,), or None
        Groups of the test rows.
    left_out : list of str
        Notes on rows that do neither.
    seed : int
        Of the draw.
    """

    train: np.ndarray
    test: np.ndarray
    groups: pd.Series | None
    left_out: list[str]
    seed: int


class Encoded(NamedTuple):
    """Numbers of the columns that predict.

    Attributes
    ----------
    X, X_test : DataFrame, (n_train, d), (n_test, d)
        Of the rows that train and that test.
    left_out : list of str
        Columns of text that names the training rows.
    warnings : list of str
        On test rows.
    """

    X: pd.DataFrame
    X_test: pd.DataFrame
    left_out: list[str]
    warnings: list[str]


class Fitted(NamedTuple):
    """A fitted KerHRM, its report on test rows, and warnings of the fit."""

    model: KerHRMClassifier | KerHRMRegressor
    report: Report
    warnings: list[str]


def _seed(random_state: Any) -> int:
    """Seed of all draws; KerhrmError if NumPy does not take it."""
    seed = draw_seed(random_state)
    if not 0 <= seed < 2**32:
        problem = f"random_state must be at least 0 and below 2^32; got {seed}"
        raise KerhrmError(problem, "use random_state=0")
    return seed


def _drawn(data: CheckedTable, group: str | None, seed: int) -> Drawn:
    """Draw the rows that test; ``group`` is the column of their groups.

    Raises KerhrmError if hardly any have known categories, or others one value of the
    target.
    """
    labels = data.y if data.task == "classification" else None
    alike = data.copies | data.repeated
    train, test = split(data.features, labels, alike, TEST_SHARE, seed)
    _check_auxiliary(data.z, train)
    test, left_out = _known_only(data.z, train, test)
    check_varies(data.y.iloc[train], data.task)
    groups = None
    if group is not None:
        column = data.rows[group]
        names = pd.Series(texts(column), column.index, name=group)
        groups = names.iloc[test]
    return Drawn(train, test, groups, left_out, seed)


def _encoded(features: pd.DataFrame, drawn: Drawn) -> Encoded:
    """Encode columns as the training rows show them."""
    of_train = features.iloc[drawn.train]
    of_test = features.iloc[drawn.test]
    with recorded():  # a remark says which columns are left out
        encoder = table_encoder().fit(of_train)
    X = encoder.transform(of_train)
    with recorded() as warnings:
        X_test = encoder.transform(of_test)
    return Encoded(X, X_test, encoder.left_out_, warnings)


def _fitted(
    data: CheckedTable, drawn: Drawn, encoded: Encoded, n_environments: int | None
) -> Fitted:
    """Fit KerHRM to the training rows, and report on the test rows."""
    train, test = drawn.train, drawn.test
    regression = data.task == "regression"
    z = _auxiliary(data, train)
    if n_environments is None and not regression and z is None:
        n_environments = 2
    kind = KerHRMRegressor if regression else KerHRMClassifier
    model = kind(n_environments=n_environments, random_state=drawn.seed)
    with recorded() as warnings:
        model.fit(encoded.X, data.y.iloc[train], auxiliary=z)
    z_test = _auxiliary(data, test)
    y_test = data.y.iloc[test]
    with recorded():  # test rows drawn at random reach a little further
        report = model.report(encoded.X_test, y_test, drawn.groups, auxiliary=z_test)
    return Fitted(model, report, warnings)


def _auxiliary(data: CheckedTable, rows: np.ndarray) -> pd.DataFrame | None:
    """Auxiliary columns of some rows, None if there is none."""
    return data.z.iloc[rows] if data.z.shape[1] else None


def _facts(
    table: pd.DataFrame,
    roles: Roles,
    data: CheckedTable,
    drawn: Drawn,
    encoded: Encoded,
    fitted: Fitted,
) -> dict[str, str]:
    """Facts of the report, on rows, the fit, columns and warnings."""
    if encoded.left_out:  # by the training rows alone text may name rows
        data = without(data, encoded.left_out)
    train, test = drawn.train, drawn.test
    columns = f"{counted(encoded.X.shape[1], 'column')} after encoding"
    rows = f"{len(train)} train, {len(test)} test by seed {drawn.seed}"
    facts = {"rows": f"{rows}, {columns}"}
    facts |= facts_of_rows(data, train, len(table), drawn.left_out)
    facts |= fitted.report.facts
    facts |= facts_of_columns(data, roles, table, test=test, groups=drawn.groups)
    return with_warnings(
        facts,
        fitted.warnings,
        encoded.warnings,
        features=list(data.features),
        auxiliary=roles.auxiliary,
    )


def _check_auxiliary(z: pd.DataFrame, train: np.ndarray) -> None:
    """Refuse auxiliary columns that vary in the test rows alone."""
    for name, column in z.items():
        of_train = column.iloc[train]
        if of_train.nunique() < 2 <= column.nunique():
            value = str(of_train.iloc[0])
            problem = f"auxiliary column {name!r} is {value!r} in all training rows"
            raise KerhrmError(problem, "give more rows with another value")


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
