"""Does KerHRM help on real tables, where a tenth of the training rows is a hidden
group?

Protocol, tables, measures and intervals: config/real_tables.yaml.  Results: table
``real_tables_errors`` (draws), ``real_tables`` (ratios to ERM), ``real_tables_mean``
(over the tables), ``real_tables_found`` (what was detected, how often KerHRM
predicted).
"""

import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
import yaml
from matplotlib.figure import Figure
from scipy.stats import t as student
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from kerhrm import KerHRMClassifier, KerhrmError, KerHRMRegressor, TangentRidge
from kerhrm.estimators._base import cores
from kerhrm.estimators._start import GivenRows, start
from kerhrm.features.ntf import extract
from kerhrm.features.ridge import Columns
from kerhrm.features.ridge_path import RIDGES
from kerhrm.randomness import stream
from studies.common import Unit

ROOT = Path(__file__).parents[1]
DATA, PROTOCOL = ROOT / "build" / "tables", ROOT / "config" / "real_tables.yaml"
INSTALL = (
    "pip install --no-deps --require-hashes --target build/tables -r envs/tables.lock"
)
SPLITS, ROWS, MINORITY, CVAR = 5, 2000, 0.1, 0.2
NETWORK = (256,)
Array = np.ndarray
AUXILIARY = "KerHRM, auxiliary column"


def units() -> Iterator[Unit]:
    """Every split of every table."""
    for name, what in yaml.safe_load(PROTOCOL.read_text()).items():
        for seed in range(SPLITS):
            key = {"table": name, "split": seed}
            yield "real_tables_errors", key, functools.partial(errors, name, what, seed)


def load(what: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Features of the complete rows, and their target, group and auxiliary column."""
    path = DATA / what["file"]
    if not path.exists():
        raise KerhrmError(f"{path} does not exist", INSTALL)
    table = pd.read_csv(path)
    table = table.query(what["where"]) if "where" in what else table
    names = [name for name in ("target", "group", "auxiliary") if name in what]
    rest = pd.DataFrame(
        {name: table.eval(what[name], engine="python") for name in names}
    )
    complete = table[what["features"]].join(rest, rsuffix=" ").notna().all(axis=1)
    return pd.get_dummies(table.loc[complete, what["features"]]), rest[complete]


def split(group: Array, name: str, seed: int) -> tuple[Array, Array]:
    """Rows that train, a tenth of them of the group, and rows that are held out."""
    random = stream(seed, "real tables", name)
    majority, minority = (
        random.permutation(np.flatnonzero(group == g)) for g in (False, True)
    )
    a, b = round(0.3 * len(majority)), round(0.5 * len(minority))
    n = min((len(majority) - a) / (1 - MINORITY), (len(minority) - b) / MINORITY, ROWS)
    train = (
        majority[a:][: round(n * (1 - MINORITY))],
        minority[b:][: round(n * MINORITY)],
    )
    return np.concatenate(train), np.concatenate([majority[:a], minority[:b]])


def errors(name: str, what: dict[str, Any], seed: int) -> pd.DataFrame:
    """Errors of every method in both groups of the held-out rows."""
    features, rest = load(what)
    labels, z = rest["target"].dtype == bool, rest.get("auxiliary")
    x, y = features.to_numpy(float), rest["target"].to_numpy(float)
    group = rest["group"].to_numpy(bool)
    train, test = split(group, name, seed)
    rows = []
    with warnings.catch_warnings(action="ignore", category=UserWarning), cores(1):
        for method, model in models(labels, z is not None, seed).items():
            if callable(model):
                f = model(x[train], y[train], group[train], x[test])
            else:
                more = {"auxiliary": z.iloc[train]} if method == AUXILIARY else {}
                p = getattr(
                    model.fit(x[train], y[train], **more), "predict_proba", None
                )
                f = p(x[test])[:, 1] if p else model.predict(x[test])
            brier = ((np.clip(f, 0, 1) if labels else f) - y[test]) ** 2
            wrong = (f > 0.5) != (y[test] > 0.5) if labels else brier
            row = {
                "method": method,
                "labels": labels,
                "training": len(train),
                "d": x.shape[1],
            }
            for kind, loss in {"error": wrong, "brier": brier}.items():
                row |= {f"{kind}_{g}": loss[group[test] == g].mean() for g in (0, 1)}
            found = getattr(model, "heterogeneity_", None)
            row["p_value"] = getattr(found, "p_value", np.nan)
            row["detected"] = getattr(found, "detected", False)
            row["predicts"] = getattr(model, "predictor_", "erm") != "erm"
            rows.append(row)
    return pd.DataFrame(rows)


def models(labels: bool, auxiliary: bool, seed: int) -> dict[str, Any]:
    """Estimators, and functions of training rows, targets, groups and test rows, by
    name."""
    kerhrm = KerHRMClassifier if labels else KerHRMRegressor
    boosting = (
        HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    )
    common: dict[str, Any] = {"network": NETWORK, "random_state": seed}
    logistic = LogisticRegression(solver="newton-cholesky")
    return {
        "ERM": TangentRidge(
            task="classification" if labels else "regression", **common
        ),
        "constant": DummyRegressor(),
        "least squares": LinearRegression(),
        **({"logistic regression": logistic} if labels else {}),
        "boosting": boosting(random_state=seed),
        "group DRO, groups known": functools.partial(robust, seed, None),
        "CVaR": functools.partial(robust, seed, CVAR),
        "KerHRM": kerhrm(**common),
        **({AUXILIARY: kerhrm(**common)} if auxiliary else {}),
        "KerHRM, forced": kerhrm(pretest=False, if_not_better="fit", **common),
    }


def robust(
    seed: int,
    share: float | None,
    x: Array,
    y: Array,
    group: Array,
    new: Array,
    steps: int = 100,
) -> Array:
    """Outputs at new points of ERM's regression with worst-case weights (Frank and
    Wolfe).

    The worst case is a share of the rows, those with the largest losses (CVaR), or a
    group.
    """
    erm = TangentRidge(task="regression", network=NETWORK, random_state=seed)
    inputs, positions = start(erm, GivenRows(x, y), hold_out=False, weighs=False)
    rows = np.argsort(positions)
    columns = Columns.extract(inputs.network, inputs.x, seed=inputs.seed)
    paths = columns.inputs, columns.whole
    choices = [(path, *path.choose(y[rows])) for path in paths]
    path, ridge, _ = min(choices, key=lambda choice: choice[2])
    y, group, n = y[rows], group[rows], len(y)

    def at(x: torch.Tensor) -> Array:
        plain = x.double().numpy()
        if path is columns.inputs:
            return plain
        own, some = (
            extract(inputs.network, points)[0] for points in (x, columns.landmarks)
        )
        tangents = own.kernel(some).double().numpy() @ columns.span
        return np.column_stack([columns.scale * plain, tangents])

    model = Ridge(min(ridge, RIDGES[-1]) * path.values.sum() / n)
    z, w = at(inputs.x), np.ones(n)
    for step in range(steps):
        losses = (y - model.fit(z, y, w).predict(z)) ** 2
        if share is None:
            worst = group == (losses[group].mean() > losses[~group].mean())
        else:
            worst = losses >= np.sort(losses)[-int(np.ceil(share * n))]
        w += 2 / (step + 3) * (n * worst / worst.sum() - w)
    return np.asarray(model.predict(at(erm._units.inputs(new))))


def interval(values: pd.DataFrame, correction: float = 0.0) -> pd.DataFrame:
    """Mean of each row, 95 % t; correction: Nadeau and Bengio's test / training, 1 at a
    half."""
    n, mean = values.count(axis=1), values.mean(axis=1)
    half = student.ppf(0.975, n - 1) * values.std(axis=1) * np.sqrt(1 / n + correction)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half})


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Ratios by table and over the tables, and what was detected."""
    rows, found = drawn["real_tables_errors"].copy(), {}
    for kind in ("error", "brier"):
        rows[f"mean_{kind}"] = rows[[f"{kind}_0", f"{kind}_1"]] @ [
            1 - MINORITY,
            MINORITY,
        ]
    rows["over_least_squares"] = rows["mean_error"]
    rows["worst_error"] = rows[["error_0", "error_1"]].max(axis=1)
    for metric in ("mean_error", "worst_error", "mean_brier", "over_least_squares"):
        wide = rows.pivot(
            index=["table", "labels", "method"], columns="split", values=metric
        )
        other = "least squares" if metric == "over_least_squares" else "ERM"
        base = (
            wide.xs(other, level="method")
            .loc[wide.index.droplevel("method")]
            .to_numpy()
        )
        found[metric] = interval(
            1 + (wide - base) / base.mean(1, keepdims=True), correction=1.0
        )
    ratios = pd.concat(found, names=["metric"]).reset_index()
    yield "real_tables", ratios.round(4)
    ratios = ratios.assign(better=ratios["high"] < 1, worse=ratios["low"] > 1)
    means, keys = {}, ["metric", "method"]
    for setting, kinds in {"all": [0, 1], "numbers": [0], "labels": [1]}.items():
        part = ratios[ratios["labels"].isin(kinds)]
        one = interval(part.pivot(index=keys, columns="table", values="mean"))
        one[["better", "worse"]] = part.groupby(keys)[["better", "worse"]].sum()
        one[["tables", "largest"]] = part.groupby(keys)["mean"].agg(["size", "max"])
        means[setting] = one
    over = pd.concat(means, names=["setting"]).reset_index()
    yield "real_tables_mean", over.assign(selection="none").round(4)
    ours = rows[rows["method"].isin(["KerHRM", AUXILIARY])]
    groups = ours.groupby(["table", "labels", "training", "d", "method"], sort=False)
    counts = (
        groups[["detected", "predicts"]]
        .sum()
        .join(groups["p_value"].agg(["median", "min"]))
    )
    yield "real_tables_found", counts.round(4).reset_index()


def figures(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Ratios of every table, and their mean with its interval, a row
    for each method."""
    (_, ratios), (_, means), _ = summaries(drawn)
    means = (
        means[means["setting"] == "all"]
        .set_index(["metric", "method"])
        .drop("ERM", level=1)
    )
    methods = (
        means.loc["worst_error"].sort_values("mean", ascending=False).index.tolist()
    )
    figure, axes = plt.subplots(
        1, 2, figsize=(7.2, 3.6), sharey=True, layout="constrained"
    )
    shown = ratios[ratios["method"] != "ERM"]
    titles = "mean error", "error in the worse of the two groups"
    for axis, metric, title in zip(
        axes, ("mean_error", "worst_error"), titles, strict=True
    ):
        for labels, kind in enumerate(("numeric targets", "two classes")):
            part = shown[(shown["metric"] == metric) & (shown["labels"] == labels)]
            up, look = (0.2, -0.2)[labels], {"color": ("#0072B2", "#D55E00")[labels]}
            heights = part["method"].map(methods.index) + up
            axis.plot(part["mean"].clip(0.5, 4), heights, ".", markersize=4, **look)
            axis.text(
                4.4,
                len(methods) - 1 + up,
                kind,
                ha="right",
                va="center",
                size=7,
                **look,
            )
        one = means.loc[metric].loc[methods]
        half = one["high"] - one["mean"]
        axis.errorbar(
            one["mean"], methods, xerr=half, fmt="|", color="black", markersize=9
        )
        axis.axvline(1, color="0.6", linewidth=0.8, zorder=0)
        axis.set(xscale="log", title=title, xlabel="ratio to ERM, less is better")
        axis.set_xticks([0.5, 1, 2, 4], ["≤ 0.5", "1", "2", "≥ 4"])
        axis.minorticks_off()
    yield "real_tables", figure
