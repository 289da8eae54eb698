"""Does KerHRM help on real tables, where a tenth of the training rows is a hidden group?

config/real_tables.yaml is the protocol, with tables, measures and intervals.  The tables are in
packages of which only CSV files are read; to install them: see ``INSTALL``.  Results:
``real_tables_errors`` (draws), ``real_tables`` (ratios to ERM by table), ``real_tables_mean`` (over
the tables) and ``real_tables_found`` (what KerHRM detected, and what predicted).
"""

import functools
import warnings
from collections.abc import Callable, Iterator
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
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kerhrm import KerHRMClassifier, KerhrmError, KerHRMRegressor, TangentRidge
from kerhrm.algorithm.ridge import RIDGES, Columns, RidgePath
from kerhrm.estimators._data import cores, start
from kerhrm.features.ntf import extract
from kerhrm.randomness import stream
from studies.common import Unit

ROOT = Path(__file__).parents[1]
DATA, PROTOCOL = ROOT / "build" / "tables", ROOT / "config" / "real_tables.yaml"
INSTALL = "pip install --no-deps --require-hashes --target build/tables -r envs/tables.lock"
SPLITS, ROWS, MINORITY, CVAR = 5, 2000, 0.1, 0.2
NETWORK = (256,)
AUXILIARY = "KerHRM, auxiliary column"
Split = tuple[np.ndarray, np.ndarray]


def units() -> Iterator[Unit]:
    """Every split of every table."""
    for name, what in yaml.safe_load(PROTOCOL.read_text()).items():
        for seed in range(SPLITS):
            key = {"table": name, "split": seed}
            yield "real_tables_errors", key, functools.partial(errors, name, what, seed)


def load(what: dict[str, Any]) -> pd.DataFrame:
    """Complete rows: features as numbers; columns (target), (group) and (auxiliary)."""
    path = DATA / what["file"]
    if not path.exists():
        raise KerhrmError(f"{path} does not exist", INSTALL)
    table = pd.read_csv(path)
    table = table.query(what["where"]) if "where" in what else table
    columns = table[what["features"]]
    for name in {"target", "group", "auxiliary"} & {*what}:
        columns[f"({name})"] = table.eval(what[name], engine="python")
    complete = columns.dropna()
    features = pd.get_dummies(complete[what["features"]], dtype=float).astype(float)
    return features.join(complete.drop(columns=what["features"]))


def split(group: np.ndarray, name: str, seed: int) -> Split:
    """Rows that train, a tenth of them of the group, and rows that are held out."""
    random = stream(seed, "real tables", name)
    majority, minority = (random.permutation(np.flatnonzero(group == g)) for g in (False, True))
    a, b = round(0.3 * len(majority)), round(0.5 * len(minority))
    n = min((len(majority) - a) / (1 - MINORITY), (len(minority) - b) / MINORITY, ROWS)
    train = majority[a:][: round(n * (1 - MINORITY))], minority[b:][: round(n * MINORITY)]
    return np.concatenate(train), np.concatenate([majority[:a], minority[:b]])


def errors(name: str, what: dict[str, Any], seed: int) -> pd.DataFrame:
    """Errors of every method in both groups of the held-out rows."""
    table = load(what)
    labels = table["(target)"].dtype == bool
    y, group = table.pop("(target)").to_numpy(float), table.pop("(group)").to_numpy(bool)
    z = table.pop("(auxiliary)") if "auxiliary" in what else None
    x = table.to_numpy()
    train, test = split(group, name, seed)
    rows = []
    with warnings.catch_warnings(action="ignore", category=UserWarning), cores(1):
        for method, model in models(labels, z is not None, seed).items():
            more = {"auxiliary": z.iloc[train]} if z is not None and method == AUXILIARY else {}
            if callable(model):
                outputs = model(x[train], y[train], group[train], x[test])
            else:
                model.fit(x[train], y[train], **more)
                p = getattr(model, "predict_proba", None)
                outputs = p(x[test])[:, 1] if p else model.predict(x[test])
            wrong = (outputs > 0.5) != (y[test] > 0.5) if labels else (outputs - y[test]) ** 2
            brier = (np.clip(outputs, 0, 1) - y[test]) ** 2 if labels else wrong
            found = getattr(model, "heterogeneity_", None)
            rows.append(
                {"method": method, "labels": labels, "training": len(train), "d": x.shape[1]}
                | {f"error_{g}": wrong[group[test] == g].mean() for g in (0, 1)}
                | {f"brier_{g}": brier[group[test] == g].mean() for g in (0, 1)}
                | {"p_value": found.p_value if found else np.nan}
                | {"detected": bool(found and found.detected)}
                | {"predicts": getattr(model, "predictor_", "erm") != "erm"}
            )
    return pd.DataFrame(rows)


def models(labels: bool, auxiliary: bool, seed: int) -> dict[str, Any]:
    """Estimators, and functions of training rows, targets, groups and test rows, by name."""
    kerhrm = KerHRMClassifier if labels else KerHRMRegressor
    boosting = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    common: dict[str, Any] = {"network": NETWORK, "random_state": seed}
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return {
        "ERM": TangentRidge(task="classification" if labels else "regression", **common),
        "constant": DummyRegressor(),
        "least squares": LinearRegression(),
        **({"logistic regression": logistic} if labels else {}),
        "boosting": boosting(random_state=seed),
        "group DRO, groups known": functools.partial(robust, seed, worst_group),
        "CVaR": functools.partial(robust, seed, worst_rows),
        "KerHRM": kerhrm(**common),
        **({AUXILIARY: kerhrm(**common)} if auxiliary else {}),
        "KerHRM, forced": kerhrm(pretest=False, if_not_better="fit", **common),
    }


def worst_group(losses: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Weights of the group with the larger mean loss."""
    worst = group == (losses[group].mean() > losses[~group].mean())
    return np.asarray(worst / worst.sum())


def worst_rows(losses: np.ndarray, _: np.ndarray, share: float = CVAR) -> np.ndarray:
    """Weights of the share of rows with the largest losses."""
    number = int(np.ceil(share * len(losses)))
    return np.isin(np.arange(len(losses)), np.argsort(losses)[-number:]) / number


def robust(
    seed: int, worst: Callable[..., np.ndarray], x: np.ndarray, y: np.ndarray, group: np.ndarray,
    x_test: np.ndarray, steps: int = 30,
) -> np.ndarray:  # fmt: skip
    """ERM's regression with worst-case weights, by Frank and Wolfe's algorithm: test outputs."""
    erm = TangentRidge(task="regression", network=NETWORK, random_state=seed)
    inputs, rows = start(erm, x, y, None, hold_out=False)
    columns = Columns.of(inputs.network, inputs.x, seed=inputs.seed)
    paths = columns.inputs, columns.whole
    fits = [path.leave_one_out(inputs.y.double().numpy())[1:] for path in paths]
    path, ridge = min(zip(paths, fits, strict=True), key=lambda fit: fit[1][0])
    penalty = np.full(len(path.values) + 1, min(ridge[1], RIDGES[-1]) * path.values.sum())
    penalty[0] = 0.0
    z, target = coordinates(columns, path, inputs.x), y[rows]
    w = np.full(len(z), 1 / len(z))
    for step in range(steps + 1):
        moments = (z.T * w) @ z + np.diag(penalty / len(z) ** 2)
        beta = np.linalg.solve(moments, z.T @ (w * target))
        w = w + 2 / (step + 3) * (worst((target - z @ beta) ** 2, group[rows]) - w)
    return coordinates(columns, path, erm._units.inputs(x_test)) @ beta


def coordinates(columns: Columns, path: RidgePath, x: torch.Tensor) -> np.ndarray:
    """A constant and the columns' principal directions at points x (m, d): (m, 1 + r)."""
    found = x.double().numpy()
    if path is columns.whole:
        own, some = (extract(columns.network, points)[0] for points in (x, columns.landmarks))
        tangents = own.kernel(some).double().numpy() @ columns.weights
        found = np.column_stack([columns.scale * found, tangents])
    return np.column_stack([np.ones(len(x)), (found - path.mean) @ path.v])


def interval(values: pd.Series, correction: float = 0.0) -> dict[str, float]:
    """Mean and 95 % t-interval; the correction is Nadeau and Bengio's test / training rows."""
    n = len(values)
    half = student.ppf(0.975, n - 1) * values.std() * np.sqrt(1 / n + correction)
    return {"mean": values.mean(), "low": values.mean() - half, "high": values.mean() + half}


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Ratios by table and over the tables, and what was detected."""
    rows = drawn["real_tables_errors"]
    measures = pd.DataFrame(
        {
            "mean_error": (1 - MINORITY) * rows["error_0"] + MINORITY * rows["error_1"],
            "worst_error": rows[["error_0", "error_1"]].max(axis=1),
            "brier": (1 - MINORITY) * rows["brier_0"] + MINORITY * rows["brier_1"],
        }
    )
    measures["over_least_squares"] = measures["mean_error"]
    measures.index = pd.MultiIndex.from_frame(rows[["table", "labels", "method", "split"]])
    found = []
    for (table, labels), part in measures.groupby(level=[0, 1], sort=False):
        for metric in measures:
            one = part[metric].unstack("split").droplevel([0, 1])
            base = one.loc["least squares" if metric == "over_least_squares" else "ERM"]
            ratios = 1 + (one - base) / base.mean()
            for method, values in ratios.iterrows():
                # half of the minority is held out: as many test as training rows
                row = {"table": table, "labels": labels, "metric": metric, "method": method}
                found.append(row | interval(values, correction=1.0))
    ratios = pd.DataFrame(found)
    yield "real_tables", ratios.round(4)
    means = []
    for setting in ("all", "numbers", "labels"):
        chosen = ratios[(setting == "all") | (ratios["labels"] == (setting == "labels"))]
        for (metric, method), part in chosen.groupby(["metric", "method"], sort=False):
            row = {"setting": setting, "metric": metric, "method": method, "selection": "none"}
            row |= {"n": len(part)} | interval(part["mean"]) | {"largest": part["mean"].max()}
            better, worse = (part["high"] < 1).sum(), (part["low"] > 1).sum()
            means.append(row | {"better": better, "worse": worse})
    yield "real_tables_mean", pd.DataFrame(means).round(4)
    ours = rows[rows["method"].isin(["KerHRM", AUXILIARY])]
    groups = ours.groupby(["table", "labels", "training", "d", "method"], sort=False)
    counts = groups.agg(p_value=("p_value", "median"), smallest_p=("p_value", "min"),
                        detected=("detected", "sum"), predicts=("predicts", "sum"))  # fmt: skip
    yield "real_tables_found", counts.round(4).reset_index()


def figures(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """Ratios of every table, and their mean with its interval, a row for each method."""
    found = dict(summaries(drawn))
    ratios, means = found["real_tables"], found["real_tables_mean"].query("setting == 'all'")
    methods = [*dict.fromkeys(ratios["method"])][:0:-1]
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), sharey=True, layout="constrained")
    titles = {"mean_error": "mean error", "worst_error": "error in the worse of the two groups"}
    for axis, (metric, title) in zip(axes, titles.items(), strict=True):
        for height, method in enumerate(methods):
            part = ratios[(ratios["metric"] == metric) & (ratios["method"] == method)]
            for labels, colour, up in ((False, "#0072B2", 0.18), (True, "#D55E00", -0.18)):
                x = part.loc[part["labels"] == labels, "mean"].clip(0.5, 4)
                axis.plot(x, np.full(len(x), height + up), ".", color=colour, markersize=4)
            one = means[(means["metric"] == metric) & (means["method"] == method)].iloc[0]
            axis.plot([one["low"], one["high"]], [height, height], color="black")
            axis.plot(one["mean"], height, "|", color="black", markersize=9)
        axis.axvline(1, color="0.6", linewidth=0.8, zorder=0)
        axis.set(xscale="log", title=title, xlabel="ratio to ERM, less is better")
        axis.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4 or more"], minor=False)
        axis.minorticks_off()
    axes[0].set_yticks(range(len(methods)), methods)
    yield "real_tables", figure
