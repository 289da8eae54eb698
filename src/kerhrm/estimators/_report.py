"""How KerHRM does next to simpler models: pooled, and in every environment or group."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from kerhrm.algorithm.ridge import RidgePath, fit_ridge
from kerhrm.methods.inputs import Inputs
from kerhrm.options import Task

ALL = "all rows"  #: the first row of a comparison


def simple_models(inputs: Inputs) -> dict[str, Callable[[Tensor], Tensor]]:
    """ERM in closed form, least squares on the inputs, and a constant, of the training rows."""
    y = inputs.y.double()
    path = RidgePath.of(inputs.x.double().cpu().numpy())
    slopes, intercept = path.solve(y.cpu().numpy(), 0.0)
    constant = float(y.mean())
    return {
        "ERM": fit_ridge(inputs.network, inputs.x, inputs.y, seed=inputs.seed),
        "least squares": lambda x: x.double() @ torch.from_numpy(slopes).to(x.device) + intercept,
        "constant": lambda x: torch.full((len(x),), constant, dtype=torch.float64),
    }


def compare(
    outputs: Mapping[str, np.ndarray], y: np.ndarray, groups: Mapping[str, np.ndarray], task: Task
) -> pd.DataFrame:
    """Mean error of every model, on all rows and in every group.

    Parameters
    ----------
    outputs : mapping of str to ndarray, (n,)
        Of the models, by name.
    y : ndarray, (n,)
        Numbers, or labels -1 and +1.
    groups : mapping of str to ndarray, (n,)
        Memberships of the rows in a group, from 0 to 1.
    task : "classification" or "regression"
        The error is the share of wrong labels, or the mean squared error.

    Returns
    -------
    DataFrame
        A row for :data:`ALL` and for every group that has any row; column ``rows`` (the sum of
        memberships), and one for each model.
    """
    members = np.stack([np.ones(len(y)), *groups.values()])
    weights = members.sum(1)
    if task == "classification":
        errors = [(f > 0) != (y > 0) for f in outputs.values()]
    else:
        errors = [(f - y) ** 2 for f in outputs.values()]
    means = members @ np.stack(errors, axis=1) / np.maximum(weights, 1e-300)[:, None]
    table = pd.DataFrame(means, [ALL, *groups], [*outputs])
    table.insert(0, "rows", weights)
    return table[weights > 0]


def worse_than_constant(report: pd.DataFrame, margin: float) -> str | None:
    """Where KerHRM is worse than the constant: on all rows, or in a group by a share ``margin``."""
    limits = report["constant"] * np.where(report.index == ALL, 1, 1 + margin)
    worse = report.index[~(report["KerHRM"] <= limits)]
    if len(worse):
        return f"KerHRM is worse than a constant on validation rows ({worse[0]})"
    return None


def not_better(report: pd.DataFrame, margin: float) -> str | None:
    """Why ERM should predict in KerHRM's place; None if KerHRM is better.

    KerHRM must not be worse than the constant, and its largest error in an environment has to be
    below ERM's by a share ``margin``.
    """
    if reason := worse_than_constant(report, margin):
        return reason
    environments = report.drop(index=ALL)
    ours, erm = environments["KerHRM"].max(), environments["ERM"].max()
    if not ours < (1 - margin) * erm:
        worst = f"{ours:.3g} against {erm:.3g} in the worst inferred environment"
        return f"KerHRM is not better than ERM on validation rows ({worst})"
    return None
