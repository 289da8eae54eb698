"""Does KerHRM help on real tables, where a hidden group is a tenth of the training?

Protocol, tables, measures and intervals: config/real_tables.yaml.  Results: table
``real_tables_errors`` (draws), ``real_tables`` (ratios to ERM), ``real_tables_mean``
(over the tables), ``real_tables_found`` (what was detected, how often KerHRM
predicted).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame, Series
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

from kerhrm.estimators._base import cores
from kerhrm.estimators.baselines import TangentRidge
from kerhrm.estimators.kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.options import Task
from kerhrm.randomness import stream
from kerhrm_paper.config.real_tables import TableDescription, load_descriptions
from kerhrm_paper.studies.packaged_tables import packaged
from kerhrm_paper.studies.real_tables_results import (
    AUXILIARY,
    ERRORS,
    KERHRM,
    MINORITY,
    figures,
    summaries,
)
from kerhrm_paper.studies.robust import Training, robust
from kerhrm_paper.studies.study import Array, Files, Study, StudyRow, Unit, quiet

SPLITS = 5
ROWS = 2000  #: at most, that train
HELD_OUT_MAJORITY = 0.3
HELD_OUT_MINORITY = 0.5
NETWORK = (256,)


FORCED = "KerHRM, forced"
#: methods of ``robust``, and the share of the rows that is their worst case
ROBUST = {
    "group DRO, groups known": None,  # the worse of the two groups
    "CVaR": 0.2,
}
Losses = dict[str, Array]  #: of each row, by kind


def units(files: Files) -> Iterator[Unit]:
    """A unit for each split of each table."""
    descriptions = load_descriptions(files["protocol"])
    for name, description in descriptions.items():
        for seed in range(SPLITS):
            key = {"table": name, "split": seed}
            compute = partial(errors, name, description, seed)
            yield Unit(ERRORS, key, compute)


@dataclass(frozen=True)
class RealTable:
    """Complete rows of a table."""

    x: DataFrame  #: features, columns of text one-hot
    y: Series
    group: Array  #: bool
    auxiliary: Series | None

    @property
    def labels(self) -> bool:
        """Whether the target has two classes."""
        return self.y.dtype == bool


def load(description: TableDescription) -> RealTable:
    """Complete rows of a table, as the protocol describes them."""
    file = packaged(description.file)
    table = pd.read_csv(file)
    if description.where is not None:
        table = table.query(description.where)
    features = table[description.features]
    expressions = {
        "target": description.target,
        "group": description.group,
        "auxiliary": description.auxiliary,
    }
    others = DataFrame()
    for name, expression in expressions.items():
        if expression is not None:
            others[name] = table.eval(expression, engine="python")
    missing = features.isna().any(axis=1)
    missing |= others.isna().any(axis=1)
    features = features[~missing]
    others = others[~missing]
    return RealTable(
        x=pd.get_dummies(features),
        y=others["target"],
        group=others["group"].to_numpy(bool),
        auxiliary=others.get("auxiliary"),
    )


def split_by_group(group: Array, name: str, seed: int) -> tuple[Array, Array]:
    """Rows that train, a tenth of them of the group, and rows that are held out."""
    random = stream(seed, "real tables", name)
    majority = np.flatnonzero(~group)
    majority = random.permutation(majority)
    minority = np.flatnonzero(group)
    minority = random.permutation(minority)
    a = round(HELD_OUT_MAJORITY * len(majority))
    b = round(HELD_OUT_MINORITY * len(minority))
    test = majority[:a], minority[:b]
    majority = majority[a:]
    minority = minority[b:]
    share = 1 - MINORITY
    most = len(majority) / share
    of_minority = len(minority) / MINORITY
    n = min(most, of_minority, ROWS)
    majority = majority[: round(n * share)]
    minority = minority[: round(n * MINORITY)]
    train = majority, minority
    return np.concatenate(train), np.concatenate(test)


# --- errors ---------------------------------------------------------------------------


def errors(name: str, description: TableDescription, seed: int) -> DataFrame:
    """Errors of every method in both groups of the held-out rows."""
    table = load(description)
    x = table.x.to_numpy(float)
    y = table.y.to_numpy(float)
    group = table.group
    train, test = split_by_group(group, name, seed)
    training = Training(x[train], y[train], group[train])
    auxiliary = table.auxiliary
    if auxiliary is not None:
        auxiliary = numbered(auxiliary.iloc[train])
    losses_of = losses_of_labels if table.labels else losses_of_numbers
    _, d = x.shape
    rows = []
    with quiet(), cores(1):
        by_method = models(table, seed)
        for method, model in by_method.items():
            x_test = x[test]
            outputs = fitted(method, model, training, auxiliary, x_test)
            losses = losses_of(outputs, y[test])
            row = {
                "method": method,
                "labels": table.labels,
                "training": len(train),
                "d": d,
            }
            row |= by_group(losses, group[test])
            row |= verdict(model)
            rows.append(row)
    return DataFrame(rows)


def numbered(auxiliary: Series) -> Series:
    """Names as their places in their order, which is how the study was published."""
    if pd.api.types.is_numeric_dtype(auxiliary):
        return auxiliary
    return auxiliary.astype("category").cat.codes


def fitted(
    method: str,
    model: Any,
    training: Training,
    auxiliary: Series | None,
    x: Array,
) -> Array:
    """Outputs of a trained method: probabilities of the second class, or numbers."""
    if method in ROBUST:
        return model(training, x)
    extra = {}
    if method == AUXILIARY:
        extra["auxiliary"] = auxiliary
    model.fit(training.x, training.y, **extra)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(x)[:, 1]
    return model.predict(x)


def losses_of_numbers(outputs: Array, y: Array) -> Losses:
    """Squared errors."""
    squares = (outputs - y) ** 2
    return {
        "error": squares,
        "brier": squares,
    }


def losses_of_labels(outputs: Array, y: Array) -> Losses:
    """Wrong labels, and Brier's scores."""
    wrong = (outputs > 0.5) != (y > 0.5)
    probability = np.clip(outputs, 0, 1)
    return {
        "error": wrong,
        "brier": (probability - y) ** 2,
    }


def by_group(losses: Losses, group: Array) -> StudyRow:
    """Mean losses of the majority (0) and of the minority (1)."""
    means = {}
    for kind, loss in losses.items():
        majority = loss[~group]
        minority = loss[group]
        means[f"{kind}_0"] = majority.mean()
        means[f"{kind}_1"] = minority.mean()
    return means


def verdict(model: Any) -> StudyRow:
    """What KerHRM's pre-test and guard say; of other methods, nothing detected."""
    test = getattr(model, "heterogeneity_", None)
    predictor = getattr(model, "predictor_", "erm")
    return {
        "p_value": getattr(test, "p_value", np.nan),
        "detected": getattr(test, "detected", False),
        "predicts": predictor != "erm",
    }


# --- methods --------------------------------------------------------------------------


def models(table: RealTable, seed: int) -> dict[str, Any]:
    """Estimators, and functions of training rows and test points, by name."""
    methods = regressors(seed)
    task: Task = "regression"
    kerhrm: Any = KerHRMRegressor
    if table.labels:
        methods = classifiers(seed)
        task = "classification"
        kerhrm = KerHRMClassifier
    settings: dict[str, Any] = {
        "network": NETWORK,
        "random_state": seed,
    }
    erm = TangentRidge(task=task, **settings)
    methods = {"ERM": erm} | methods
    for name, share in ROBUST.items():
        methods[name] = partial(
            robust,
            network=NETWORK,
            seed=seed,
            share=share,
        )
    methods[KERHRM] = kerhrm(**settings)
    if table.auxiliary is not None:
        methods[AUXILIARY] = kerhrm(**settings)
    settings["pretest"] = False
    settings["if_not_better"] = "fit"
    methods[FORCED] = kerhrm(**settings)
    return methods


def regressors(seed: int) -> dict[str, Any]:
    """Other methods for numbers."""
    return {
        "constant": DummyRegressor(),
        "least squares": LinearRegression(),
        "boosting": HistGradientBoostingRegressor(random_state=seed),
    }


def classifiers(seed: int) -> dict[str, Any]:
    """Other methods for two classes; the first two regress on labels 0 and 1."""
    logistic = LogisticRegression(solver="newton-cholesky")
    return {
        "constant": DummyRegressor(),
        "least squares": LinearRegression(),
        "logistic regression": logistic,
        "boosting": HistGradientBoostingClassifier(random_state=seed),
    }


STUDY = Study(
    units=units,
    summaries=summaries,
    figures=figures,
)
