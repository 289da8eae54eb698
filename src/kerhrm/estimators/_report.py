"""Errors of KerHRM next to simpler models: pooled, and in every
environment or group."""

import html
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from kerhrm.estimators._labels import read_labels
from kerhrm.features.ridge import RidgeModel, RidgePath, fit_ridge
from kerhrm.heterogeneity.test import MIN_POINTS, HeterogeneityResult
from kerhrm.methods.inputs import Inputs
from kerhrm.options import Task

ALL = "all rows"  #: the first row of a comparison
ERROR = {
    "classification": "share of wrong labels",
    "regression": "root mean squared error",
}


@dataclass(frozen=True)
class Report:
    """Errors of a fitted KerHRM on some rows: ``print`` it, or show it in a notebook.

    Attributes
    ----------
    errors : DataFrame
        A row for all rows, every inferred environment and every group; columns
        ``rows``, KerHRM (what ``predict`` gives), ERM in closed form, least squares, a
        constant.  Shares of wrong labels, or root mean squared errors in the target's
        unit.
    facts : dict of str to str
        What the errors are, what predicts and why, the test, what was chosen and
        assumed.
    """

    errors: pd.DataFrame
    facts: dict[str, str]

    def to_frame(self) -> pd.DataFrame:
        """The errors."""
        return self.errors.copy()

    def __str__(self) -> str:
        width = max(map(len, self.facts))
        lines = [f"{name:{width}}  {value}" for name, value in self.facts.items()]
        return "\n".join([self.errors.to_string(float_format="%.4g"), "", *lines])

    def to_html(self) -> str:
        """Two tables; names from the data are escaped."""
        cells = {
            html.escape(name): html.escape(value) for name, value in self.facts.items()
        }
        rows = "".join(
            f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in cells.items()
        )
        errors = self.errors.rename_axis(columns="part")
        return f"{errors.to_html(float_format='%.4g', border=0)}<table>{rows}</table>"

    _repr_html_ = to_html


def simple_models(inputs: Inputs) -> dict[str, RidgeModel]:
    """ERM in closed form, least squares on the inputs, and a constant, of the training
    rows."""
    x, y = (part.double().cpu().numpy() for part in (inputs.x, inputs.y))
    weights = inputs.weights
    path = RidgePath.of(x, None if weights is None else weights.cpu().numpy())
    erm = fit_ridge(
        inputs.network, inputs.x, inputs.y, seed=inputs.seed, weights=weights
    )
    models = {"ERM": erm}
    for name, ridge in {"least squares": 0.0, "constant": np.inf}.items():
        beta, intercept = path.solve(y, ridge)
        model = RidgeModel(torch.from_numpy(beta), intercept, None, ridge, float("nan"))
        models[name] = model.to(inputs.x.device)
    return models


def indicators(
    groups: Any, n: int, *, taken: Collection[str] = (), table: Any = None
) -> dict[str, np.ndarray]:
    """Groups of the n rows of a table by name: 1 for their rows and 0 for others.

    Names that are ``taken`` are not used.

    Raises KerhrmError if there is not one label, of any kind, for each row, or two have
    the same name.
    """
    labels, name = (
        read_labels(groups, n, "groups", table),
        getattr(groups, "name", None),
    )
    name = "group" if name is None or name == "" else name
    names = [f"{name} {label}" for label in labels.names]
    if not set(names).isdisjoint(taken):
        names = [f"group {name} {label}" for label in labels.names]
    return {
        name: labels.members(number).astype(float) for number, name in enumerate(names)
    }


def compare(
    outputs: Mapping[str, np.ndarray],
    y: np.ndarray,
    groups: Mapping[str, np.ndarray],
    task: Task,
    counts: np.ndarray | None = None,
) -> pd.DataFrame:
    """Mean error of every model, on all rows and in every group that has any row.

    Of outputs (n,), numbers or labels -1 and +1 (n,), memberships in groups (n,), from
    0 to 1, and weights of the rows (n,).  An error is the share of wrong labels, or the
    mean squared error; the column ``rows`` is the sum of memberships.
    """
    members = np.stack([np.ones(len(y)), *groups.values()]) * (
        1 if counts is None else counts
    )
    weights = members.sum(1)
    if task == "classification":
        errors = [(f > 0) != (y > 0) for f in outputs.values()]
    else:
        errors = [(f - y) ** 2 for f in outputs.values()]
    means = members @ np.stack(errors, axis=1) / np.maximum(weights, 1e-300)[:, None]
    table = pd.DataFrame(means, [ALL, *groups], [*outputs])
    table.insert(0, "rows", weights)
    return table[weights > 0]


def not_detected(result: HeterogeneityResult | None) -> str | None:
    """Why nothing was detected, if it was not."""
    if result is None or result.detected:
        return None
    if math.isnan(result.p_value):
        few = f"fewer than {MIN_POINTS} training rows beside a frequent value"
        return f"no test is possible: a target of two values, or {few}"
    if math.isnan(result.visible):
        return "no environments are detected in the training rows"
    return (
        f"no environments are detected; with {result.n_points} rows a slope "
        "that flips in a fifth "
        f"of them is seen above some {result.visible:.0%} of the residual variance"
    )


def worse_than_constant(report: pd.DataFrame, margin: float) -> str | None:
    """Where KerHRM is worse than the constant.

    On all rows, or in a group by a share ``margin``.
    """
    limits = report["constant"] * np.where(report.index == ALL, 1, 1 + margin)
    worse = report.index[~(report["KerHRM"] <= limits)]
    if len(worse):
        return f"KerHRM is worse than a constant on validation rows ({worse[0]})"
    return None


def not_better(report: pd.DataFrame, margin: float) -> str | None:
    """Why ERM should predict in KerHRM's place; None if KerHRM is better.

    KerHRM must not be worse than the constant, and its largest error in an environment
    has to be below ERM's by a share ``margin``.
    """
    if reason := worse_than_constant(report, margin):
        return reason
    environments = report.drop(index=ALL)
    ours, erm = environments["KerHRM"].max(), environments["ERM"].max()
    if not ours < (1 - margin) * erm:
        worst = f"{ours:.3g} against {erm:.3g} in the worst inferred environment"
        return f"KerHRM is not better than ERM on validation rows ({worst})"
    return None


def facts(model: Any) -> dict[str, str]:
    """Describe in words what a fitted KerHRM did and assumed."""
    result, chosen = model.heterogeneity_, model.selected_
    by = {"linear": "KerHRM, its invariant direction", "network": "KerHRM, its network"}
    assumed = (
        "some feature is spurious: its relation to the target differs by environment"
    )
    if result is None and model._task == "classification" and model._columns is None:
        test = "none; two labels cannot be tested without an auxiliary column"
    elif result is None:
        test = "none; the parameters asked for none"
    elif math.isnan(result.p_value):
        test = "not possible"
    else:
        found = "environments" if result.detected else "no environments"
        least = 1 / (1 + len(result.null))
        test = (
            f"{found} detected (p = {result.p_value:.3g}; least possible {least:.3g})"
        )
    lines = {
        "error": ERROR[model._task],
        "predicts by": by.get(model.predictor_, f"ERM: {model._reason}"),
        "test": test,
    }
    if model._environments is not None:
        shares = model.environment_proba_.mean(0)
        lines["environments"] = (
            ", ".join(f"{share:.0%}" for share in shares) + " of the rows"
        )
        lines["chosen"] = "k = {k}, alpha = {alpha:g}, iteration {iteration}".format(
            **chosen
        )
        if model._auxiliary is not None:
            assumed += ", which is a function of the auxiliary columns"
        lines["assumed"] = assumed
    return lines
