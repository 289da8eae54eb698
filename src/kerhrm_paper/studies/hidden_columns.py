"""Does ``describe`` find the groups of a column that the fit does not see?

**Tables.** Of the packages in envs/tables.txt, read from CSV: columns that are missing
in more than a fifth of the rows are left out, then incomplete rows; 100 to 5 000 rows.

**Rule.** A *hidden column* has two values, each in a tenth of the rows or more.  A
target is a number with 20 values or more that does not count rows.  Its features are
the five other numbers that correlate most with it by rank, none of them by .95 or more
with the target or with another feature.  A hidden column's *strength* is the share of
least squares' squared residuals that a regression for each of its values removes.  Of
each table the strongest pair of target and hidden column counts; at .98 and more the
target is made of the hidden column, and the pair is left out.  The dozen strongest
tables are described.  The rule looks at no environments; it was written down after
these tables had been looked at once, by nearly the same rule.

**Null tables.** The same features, and least squares' outputs with residuals in another
order: noise of the same shape, and no environments.

Tables ``hidden_columns_strength`` (all), ``hidden_columns`` (the dozen, with the
adjusted Rand index of the hidden column and the split that ``describe`` shows),
``hidden_columns_draws`` and ``hidden_columns_null`` (how often environments were
detected in null tables).
"""

from collections.abc import Iterator
from functools import cache, partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame
from sklearn.metrics import adjusted_rand_score

from kerhrm import KerHRMRegressor
from kerhrm.estimators._base import cores
from kerhrm.randomness import stream
from kerhrm_paper.studies.real_tables import installed
from kerhrm_paper.studies.study import (
    Array,
    Files,
    Frames,
    Study,
    StudyRow,
    Unit,
    detections,
    quiet,
)

STRENGTH = "hidden_columns_strength"
FOUND = "hidden_columns"
DRAWS = "hidden_columns_draws"
NULL = "hidden_columns_null"
N_TABLES = 12  #: that are described
N_NULL = 100
ROWS = 100, 5000
COMPLETE = 0.8  #: least share of rows that a column has
GROUP = 0.1  #: least share of a hidden column's value
VALUES = 20  #: least number of a target's
ALIKE = 0.95  #: rank correlation of columns that say the same
N_FEATURES = 5
MADE = 0.98  #: strength from which a target is made of its hidden column
#: names of columns that number rows or times
NUMBERS_OF_ROWS = {"case", "id", "week", "year"}
NETWORK = (256,)


class Pair(NamedTuple):
    """A target of a table, its features, and a column that the fit does not see."""

    table: str
    rows: int
    target: str
    hidden: str
    strength: float
    minority: float  #: share of the hidden column's rarer value
    features: tuple[str, ...]


def units(files: Files) -> Iterator[Unit]:
    """One unit for the rule, one for each table and for each null table."""
    yield Unit(STRENGTH, {"rule": "strongest pair"}, strengths)
    for place in range(N_TABLES):
        yield Unit(FOUND, {"place": place + 1}, partial(found, place))
    for draw in range(N_NULL):
        yield Unit(DRAWS, {"draw": draw}, partial(null_table, draw))


# --- the rule -------------------------------------------------------------------------


def strengths() -> DataFrame:
    """The strongest pair of each table, the strongest first."""
    return DataFrame([row_of(pair) for pair in ranked()])


def row_of(pair: Pair) -> StudyRow:
    """A pair as a row, its features in one cell."""
    return pair._asdict() | {"features": " ".join(pair.features)}


@cache
def ranked() -> tuple[Pair, ...]:
    """The strongest pair of each table, the strongest first; of copies one."""
    folder = installed()
    pairs: dict[tuple[int, float], Pair] = {}
    for path in sorted(folder.rglob("*.csv*")):
        pair = strongest(path.relative_to(folder).as_posix())
        if pair is not None:
            pairs.setdefault((pair.rows, round(pair.strength, 6)), pair)
    return tuple(sorted(pairs.values(), key=lambda pair: -pair.strength))


def read(name: str) -> DataFrame:
    """Complete rows of a table; a number of the rows without a name is no column."""
    table = pd.read_csv(installed(name), low_memory=False)
    named = [c for c in table if not str(c).startswith("Unnamed")]
    most = int(COMPLETE * len(table))
    return table[named].dropna(axis=1, thresh=most).dropna()


def strongest(name: str) -> Pair | None:
    """The pair of a table whose hidden column is strongest; None if it has none."""
    table = read(name)
    least, most = ROWS
    if not least <= len(table) <= most:
        return None
    numbers = table.select_dtypes("number").astype(float)
    numbers = numbers.loc[:, np.isfinite(numbers).all()]
    varies = numbers.std() > 0
    numbers = numbers.loc[:, varies]
    hidden = [column for column in table if _may_be_hidden(table[column])]
    targets = [column for column in numbers if _may_be_target(numbers[column])]
    alike = numbers.rank().corr().abs()
    pairs = []
    for target, group in product(targets, hidden):
        features = features_of(target, numbers, alike)
        if not features:
            continue
        codes = pd.factorize(table[group])[0]
        strength = strength_of(numbers[list(features)], numbers[target], codes)
        if strength < MADE:
            minority = min(codes.mean(), 1 - codes.mean())
            pair = Pair(name, len(table), target, group, strength, minority, features)
            pairs.append(pair)
    return max(pairs, key=lambda pair: pair.strength, default=None)


def _may_be_hidden(column: pd.Series) -> bool:
    shares = column.value_counts(normalize=True)
    return len(shares) == 2 and bool(shares.min() >= GROUP)


def _may_be_target(column: pd.Series) -> bool:
    if str(column.name).lower() in NUMBERS_OF_ROWS:
        return False
    return column.nunique() >= VALUES and not column.is_monotonic_increasing


def features_of(target: str, numbers: DataFrame, alike: DataFrame) -> tuple[str, ...]:
    """Features of a target, by absolute rank correlations of all numbers."""
    correlated = alike[target].drop(target).sort_values(ascending=False, kind="stable")
    features: list[str] = []
    for column, correlation in correlated.items():
        if numbers[column].nunique() <= 2 or str(column).lower() in ("case", "id"):
            continue
        others = alike.loc[column, features]
        if correlation < ALIKE and (others < ALIKE).all():
            features.append(column)
    return tuple(features[:N_FEATURES])


def strength_of(x: DataFrame, y: pd.Series, groups: Array) -> float:
    """Share of the squared residuals that a regression for each group removes."""
    pooled = residuals(x, y)
    apart = 0.0
    for group in np.unique(groups):
        members = groups == group
        apart += float((residuals(x[members], y[members]) ** 2).sum())
    total = float((pooled**2).sum())
    exact = total < 1e-3 * float(((y - y.mean()) ** 2).sum())
    return 1.0 if exact else 1 - apart / total


def residuals(x: DataFrame, y: pd.Series) -> Array:
    """Residuals (n,) of least squares with an intercept."""
    values = x.to_numpy()
    scale = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    design = np.column_stack([np.ones(len(x)), scaled])
    centred = y.to_numpy() - y.mean()
    slopes, *_ = np.linalg.lstsq(design, centred, rcond=None)
    return np.asarray(centred - design @ slopes)


# --- what is found --------------------------------------------------------------------


def found(place: int) -> DataFrame:
    """What ``describe`` says of a table, against its hidden column."""
    pair = ranked()[place]
    table = read(pair.table)
    x, y = table[list(pair.features)].astype(float), table[pair.target].astype(float)
    row = described(x, y)
    split = row.pop("split_of_rows")
    row["rand_index"] = adjusted_rand_score(table[pair.hidden], split)
    return DataFrame([row_of(pair) | row])


def described(x: DataFrame, y: pd.Series) -> StudyRow:
    """A fit's verdict, and the environment that ``describe`` shows of each row."""
    model = KerHRMRegressor(network=NETWORK, random_state=0)
    with quiet(), cores(1):
        description = model.fit(x, y).describe(stability=0)
    split = np.zeros(len(x), dtype=int)
    if description.memberships is not None:
        split = description.memberships.to_numpy().argmax(axis=1)
    return {
        "predictor": model.predictor_,
        "detected": description.detected,
        "shows": description.split,
        "environments": len(np.unique(split)),
        "split_of_rows": split,
    }


# --- null tables ----------------------------------------------------------------------


def null_table(draw: int) -> DataFrame:
    """Whether environments are detected in a table that has none."""
    pair = ranked()[draw % N_TABLES]
    table = read(pair.table)
    x, y = table[list(pair.features)].astype(float), table[pair.target].astype(float)
    noise = residuals(x, y)
    random = stream(draw, "hidden columns")
    target = y - noise + random.permutation(noise)
    row = described(x, target)
    del row["split_of_rows"]
    return DataFrame([{"table": pair.table} | row])


def summaries(drawn: Frames) -> Frames:
    """How often environments were detected in null tables."""
    return {NULL: DataFrame([detections(drawn[DRAWS])])}


STUDY = Study(units=units, summaries=summaries)
