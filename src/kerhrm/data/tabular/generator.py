"""A table of one's own: which rows train, what columns become, and what is injected."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder

from kerhrm.data.dataset import Dataset, Split
from kerhrm.data.drawing import stack
from kerhrm.data.tabular.options import Injected, TabularData
from kerhrm.data.tabular.reading import read_frame
from kerhrm.data.tabular.table import Table, make_table
from kerhrm.errors import KerhrmError
from kerhrm.randomness import entropy, stream

MANY = 20  #: values of a categorical column beyond which ``auto`` takes their mean target
HIDDEN = ["usual", "flipped"]  #: groups of a semi-synthetic table
REST = "others"  #: test rows from the groups that train


class Raw(Protocol):
    """Raw data that are a table."""

    @property
    def source(self) -> str:
        """Where they come from."""
        ...

    @property
    def frame(self) -> pd.DataFrame:
        """The table."""
        ...


def generate(options: TabularData, seeds: Sequence[int], raw: str | Raw) -> Dataset:
    """Read, check, and split once per seed.

    Test rows of each group are as many in every seed; in ``groups.values`` and
    ``groups.quantile`` they are the same ones, and a share of all other rows is the last group.
    What is learned of columns (medians, means, deviations, ranges, encodings) is learned of a
    seed's training rows alone.

    Returns
    -------
    Dataset
        Standardised, x (B, n, d); ``unit`` gives errors in units of the target's deviation over all
        rows.  The environment of test points is the group; that of training points, which no method
        sees that is not given labels, is the group, too, where test rows are drawn at random, else
        0.  ``about`` has what a reader should know.

    Raises
    ------
    KerhrmError
        Naming the column and the cure.
    """
    if isinstance(raw, str):
        frame, source, where = read_frame(raw), "file", raw
    else:
        frame, source, where = raw.frame, raw.source, options.path
    table = make_table(frame, options, where)
    parts: dict[str, list[Split]] = {"train": [], "validation": [], "test": []}
    unit: list[float] = []
    encoded: dict[str, Any] = {}
    for seed in seeds:
        own, y = table, table.y
        if options.inject:
            own = _inject(table, options, options.inject, seed)
        rows = _split(own, options, where, seed)
        train = rows["train"]
        if options.kind == "classification" and len(np.unique(y[train])) < 2:
            problem = f"{where}: the training rows of seed {seed} have only one class"
            raise KerhrmError(problem, "add rows of the other one")
        if options.kind == "regression":
            level, spread = y[train].mean(), y[train].std()
            if spread == 0:
                problem = f"{where}: target '{options.target}' is constant in the training rows"
                raise KerhrmError(problem, "add rows, or choose other test groups")
            unit.append(spread / y.std())
            y = (y - level) / spread
        x, encoded = _encode(own, train, y, options, seed)
        for name, chosen in rows.items():
            parts[name].append(Split(x[chosen], y[chosen], np.maximum(own.group[chosen], 0)))
    groups = HIDDEN if options.inject else table.groups
    if options.groups.random is None and _rest(table, options):  # they are behind the groups
        groups = [*groups, REST]
        for split in parts["test"]:
            split.environment[split.environment.size - _rest(table, options) :] = len(groups) - 1
    sizes = {name: len(splits[0].y) for name, splits in parts.items()}
    counts = np.bincount(parts["test"][0].environment, minlength=len(groups)).tolist()
    return Dataset(
        train=stack(parts["train"]),
        validation=stack(parts["validation"]),
        test=stack(parts["test"]),
        source=source,
        test_environments=groups,
        seeds=seeds,
        task="classification" if options.kind == "classification" else "regression",
        unit=np.array(unit) if unit else None,
        about=table.facts | encoded | {
            "path": options.path,
            "target": options.target,
            "hidden": options.inject is not None,
            "sizes": sizes,
            "groups": [list(pair) for pair in zip(groups, counts, strict=True)],
        },
    )  # fmt: skip


def _rest(table: Table, options: TabularData) -> int:
    """Number of test rows that come from the groups that train."""
    return round(options.test_fraction * int((table.group < 0).sum()))


def _split(table: Table, options: TabularData, where: str, seed: int) -> dict[str, np.ndarray]:
    """Rows of each part; those of a test group follow each other."""
    random = stream(seed, "data", "tabular")
    share = options.groups.random
    test, pool = [], []
    for number, name in enumerate(HIDDEN if options.inject else table.groups):
        rows = np.flatnonzero(table.group == number)
        if share is None:
            test.append(rows)
            continue
        rows = random.permutation(rows)
        size = round(share * len(rows))
        if size < 1:
            problem = f"{where}: group '{name}' has {len(rows)} rows, and none for the test"
            raise KerhrmError(problem, "raise groups.random, or choose another column")
        test.append(rows[:size])
        pool.append(rows[size:])
    if share is None:
        others = random.permutation(np.flatnonzero(table.group < 0))
        size = _rest(table, options)
        test.append(others[:size])
        pool.append(others[size:])
    left = random.permutation(np.concatenate(pool))[: options.max_rows]
    n_validation = round(options.validation_fraction * len(left))
    if n_validation < 1 or len(left) - n_validation < 2:
        problem = (
            f"{where}: {len(left)} rows are left to train and validate, "
            f"{n_validation} of them for validation"
        )
        cure = "choose fewer test groups, or change validation_fraction or test_fraction"
        raise KerhrmError(problem, cure)
    return {
        "train": left[n_validation:],
        "validation": left[:n_validation],
        "test": np.concatenate(test),
    }


def _inject(table: Table, options: TabularData, told: Injected, seed: int) -> Table:
    """A further column, and the rows where its relation to the target is the other way round."""
    random = stream(seed, "data", "inject")
    n = len(table.y)
    hidden = np.zeros(n, dtype=np.int64)
    hidden[random.permutation(n)[: round(told.share * n)]] = 1
    y = table.y
    if options.kind == "regression":
        y = (y - y.mean()) / y.std()
    column = np.where(hidden, -y, y) + told.noise * random.standard_normal(n)
    numbers = table.numbers.assign(**{told.column: column})
    return Table(numbers, table.names, table.y, hidden, HIDDEN, table.facts)


def _encode(
    table: Table, train: np.ndarray, y: np.ndarray, options: TabularData, seed: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Predictors (N, d) by what the training rows say, their names, and columns' encodings."""
    counts = {n: table.names[n].nunique() for n in table.names}
    mean = [
        n for n, c in counts.items()
        if options.encoding == "target" or (options.encoding == "auto" and c > MANY)
    ]  # fmt: skip
    one_hot = [n for n in counts if n not in mean]
    # the same columns in every seed, whichever values its training rows have
    values = [sorted(table.names[n].unique()) for n in one_hot]
    folds = KFold(5, shuffle=True, random_state=entropy(seed, "data", "encoding") % 2**32)
    means = TargetEncoder(target_type="continuous", cv=folds)
    encoder = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True),
                                      StandardScaler()), list(table.numbers)),
            ("values", OneHotEncoder(categories=values, drop="if_binary", sparse_output=False,
                                     handle_unknown="error"), one_hot),
            ("means", make_pipeline(means, StandardScaler()), mean),
        ],
        verbose_feature_names_out=False,
    )  # fmt: skip
    frame = pd.concat([table.numbers, table.names], axis=1)
    # of training rows the mean target is cross-fitted: each is encoded by the others' targets
    fitted = encoder.fit_transform(frame.iloc[train], y[train])
    x = encoder.transform(frame)
    x[train] = fitted
    if options.clip == "train":
        x = np.clip(x, fitted.min(axis=0), fitted.max(axis=0))
    how = dict.fromkeys(mean, "mean target") | dict.fromkeys(one_hot, "0 and 1")
    return x, {"features": [str(n) for n in encoder.get_feature_names_out()], "encodings": how}
