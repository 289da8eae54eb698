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
    data = CheckedTable.read(table, roles, task)
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
    kind = KerHRMRegressor if regression else KerHRMClassifier
    if n_environments is None and not (regression or roles.auxiliary):
        n_environments = 2
    model = kind(n_environments=n_environments, random_state=seed)
    of_train, of_test = {}, {}
    if roles.auxiliary:
        of_train["auxiliary"] = z.iloc[train]
        of_test["auxiliary"] = z.iloc[test]
    with recorded():  # a remark says which columns are left out
        encoder = table_encoder().fit(data.features.iloc[train])
    X = encoder.transform(data.features.iloc[train])
    with recorded() as said_of_test:
        X_test = encoder.transform(data.features.iloc[test])
    with recorded() as said_of_fit:
        model.fit(X, y.iloc[train], **of_train)
    with recorded():  # test rows drawn at random reach a little further
        report = model.report(X_test, y.iloc[test], groups, **of_test)
    if encoder.left_out_:  # by the training rows alone text may name rows
        data = without(data, encoder.left_out_)
    encoded = f"{counted(X.shape[1], 'column')} after encoding"
    drawn = f"{len(train)} train, {len(test)} test by seed {seed}"
    facts = {"rows": f"{drawn}, {encoded}"}
    facts |= facts_of_rows(data, train, len(table), left_out)
    facts |= report.facts
    facts |= facts_of_columns(data, roles, table, test=test, groups=groups)
    facts = with_warnings(
        facts,
        said_of_fit,
        said_of_test,
        features=list(data.features),
        auxiliary=roles.auxiliary,
    )
    return Checked(
        model=model,
        report=Report(report.errors, facts),
        X_test=X_test,
        y_test=y.iloc[test],
        auxiliary_test=z.iloc[test] if roles.auxiliary else None,
    )


def _check_labels(y: pd.Series) -> None:
    """Refuse training rows with one label."""
    if y.nunique() < 2:
        problem = f"the target {y.name!r} is {str(y.iloc[0])!r} in all training rows"
        raise KerhrmError(problem, "give more rows with the other label")


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
