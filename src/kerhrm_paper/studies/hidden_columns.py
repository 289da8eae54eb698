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
from kerhrm_paper.studies.packaged_tables import packaged
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
    rule = {"rule": "strongest pair"}
    yield Unit(STRENGTH, rule, strengths)
    for place in range(N_TABLES):
        key = {"place": place + 1}
        find = partial(found, place)
        yield Unit(FOUND, key, find)
    for draw in range(N_NULL):
        key = {"draw": draw}
        fit = partial(null_table, draw)
        yield Unit(DRAWS, key, fit)


# --- the rule -------------------------------------------------------------------------


def strengths() -> DataFrame:
    """The strongest pair of each table, the strongest first."""
    rows = [row_of(pair) for pair in ranked()]
    return DataFrame(rows)


def row_of(pair: Pair) -> StudyRow:
    """A pair as a row, its features in one cell."""
    features = " ".join(pair.features)
    return pair._asdict() | {"features": features}


@cache
def ranked() -> tuple[Pair, ...]:
    """The strongest pair of each table, the strongest first; of copies one."""
    folder = packaged()
    pairs: dict[tuple[int, float], Pair] = {}
    for path in sorted(folder.rglob("*.csv*")):
        relative = path.relative_to(folder)
        name = relative.as_posix()
        pair = strongest(name)
        if pair is None:
            continue
        strength = round(pair.strength, 6)
        key = (pair.rows, strength)
        pairs.setdefault(key, pair)
    by_strength = sorted(pairs.values(), key=lambda pair: -pair.strength)
    return tuple(by_strength)


def read(name: str) -> DataFrame:
    """Complete rows of a table; a number of the rows without a name is no column."""
    file = packaged(name)
    table = pd.read_csv(file, low_memory=False)
    named = [c for c in table if not str(c).startswith("Unnamed")]
    table = table[named]
    most = int(COMPLETE * len(table))
    table = table.dropna(axis=1, thresh=most)
    return table.dropna()


def strongest(name: str) -> Pair | None:
    """The pair of a table whose hidden column is strongest; None if it has none."""
    table = read(name)
    n = len(table)
    least, most = ROWS
    if not least <= n <= most:
        return None
    numbers = table.select_dtypes("number")
    numbers = numbers.astype(float)
    is_finite = np.isfinite(numbers).all()
    numbers = numbers.loc[:, is_finite]
    varies = numbers.std() > 0
    numbers = numbers.loc[:, varies]
    hidden = [column for column in table if _may_be_hidden(table[column])]
    targets = [column for column in numbers if _may_be_target(numbers[column])]
    ranks = numbers.rank()
    correlations = ranks.corr()
    alike = correlations.abs()
    pairs = []
    for target, group in product(targets, hidden):
        features = features_of(target, numbers, alike)
        if not features:
            continue
        codes, _ = pd.factorize(table[group])
        x = numbers[list(features)]
        y = numbers[target]
        strength = strength_of(x, y, codes)
        if strength < MADE:
            share = codes.mean()
            minority = min(share, 1 - share)
            pair = Pair(name, n, target, group, strength, minority, features)
            pairs.append(pair)
    return max(pairs, key=lambda pair: pair.strength, default=None)


def _may_be_hidden(column: pd.Series) -> bool:
    shares = column.value_counts(normalize=True)
    is_minority = bool(shares.min() >= GROUP)
    return len(shares) == 2 and is_minority


def _may_be_target(column: pd.Series) -> bool:
    name = str(column.name)
    if name.lower() in NUMBERS_OF_ROWS:
        return False
    if column.nunique() < VALUES:
        return False
    return not column.is_monotonic_increasing


def features_of(target: str, numbers: DataFrame, alike: DataFrame) -> tuple[str, ...]:
    """Features of a target, by absolute rank correlations of all numbers."""
    with_target = alike[target]
    others = with_target.drop(target)
    correlated = others.sort_values(ascending=False, kind="stable")
    features: list[str] = []
    for column, correlation in correlated.items():
        lower_case = str(column).lower()
        is_number_of_rows = lower_case in ("case", "id")
        n_values = numbers[column].nunique()
        has_two_values = n_values <= 2
        if has_two_values or is_number_of_rows:
            continue
        to_others = alike.loc[column, features]
        differs = to_others < ALIKE
        is_new = differs.all()
        if correlation < ALIKE and is_new:
            features.append(column)
    return tuple(features[:N_FEATURES])


def strength_of(x: DataFrame, y: pd.Series, groups: Array) -> float:
    """Share of the squared residuals that a regression for each group removes."""
    pooled = residuals(x, y)
    apart = 0.0
    for group in np.unique(groups):
        members = groups == group
        of_group = residuals(x[members], y[members])
        squares_of_group = of_group**2
        apart += float(squares_of_group.sum())
    squares_pooled = pooled**2
    total = float(squares_pooled.sum())
    centred = y - y.mean()
    squares = centred**2
    variation = float(squares.sum())
    exact = total < 1e-3 * variation
    if exact:
        return 1.0
    return 1 - apart / total


def residuals(x: DataFrame, y: pd.Series) -> Array:
    """Residuals (n,) of least squares with an intercept."""
    values = x.to_numpy()
    scale = values.std(axis=0)
    centred_values = values - values.mean(axis=0)
    divisor = np.where(scale > 0, scale, 1.0)
    scaled = centred_values / divisor
    constant = np.ones(len(x))
    design = np.column_stack([constant, scaled])
    centred = y.to_numpy() - y.mean()
    slopes, *_ = np.linalg.lstsq(design, centred, rcond=None)
    fitted = design @ slopes
    return np.asarray(centred - fitted)


# --- what is found --------------------------------------------------------------------


def found(place: int) -> DataFrame:
    """What ``describe`` says of a table, against its hidden column."""
    pair = ranked()[place]
    table = read(pair.table)
    features = list(pair.features)
    x = table[features].astype(float)
    target = table[pair.target]
    y = target.astype(float)
    row = described(x, y)
    split = row.pop("split_of_rows")
    hidden = table[pair.hidden]
    row["rand_index"] = adjusted_rand_score(hidden, split)
    facts = row_of(pair)
    row = facts | row
    return DataFrame([row])


def described(x: DataFrame, y: pd.Series) -> StudyRow:
    """A fit's verdict, and the environment that ``describe`` shows of each row."""
    model = KerHRMRegressor(network=NETWORK, random_state=0)
    with quiet(), cores(1):
        model.fit(x, y)
        description = model.describe(stability=0)
    n = len(x)
    split = np.zeros(n, dtype=int)
    if description.memberships is not None:
        memberships = description.memberships.to_numpy()
        split = memberships.argmax(axis=1)
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
    pairs = ranked()
    pair = pairs[draw % N_TABLES]
    table = read(pair.table)
    features = list(pair.features)
    x = table[features].astype(float)
    y = table[pair.target].astype(float)
    noise = residuals(x, y)
    random = stream(draw, "hidden columns")
    permuted = random.permutation(noise)
    target = y - noise + permuted
    row = described(x, target)
    del row["split_of_rows"]
    row = {"table": pair.table} | row
    return DataFrame([row])


def summaries(drawn: Frames) -> Frames:
    """How often environments were detected in null tables."""
    row = detections(drawn[DRAWS])
    return {NULL: DataFrame([row])}


STUDY = Study(units=units, summaries=summaries)
