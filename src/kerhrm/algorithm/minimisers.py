"""Minimisers of the pooled risk plus a penalty, whoever has written the penalty.

What a penalty of :mod:`kerhrm.algorithm.registry` returns is checked here.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.problem import Risks
from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError, shown


def minimisers(
    kind: str, psi: Tensor, risks: Risks, alphas: Sequence[float], terms: int = 1
) -> Tensor:
    """Minimisers of the pooled risk plus a penalty, one for each weight.

    Parameters
    ----------
    kind : str
        Name of the penalty.
    psi : Tensor, (n, k)
        Features, on which the weights' unit depends.
    risks : Risks
        Of the environments.
    alphas : sequence of float
        Weights alpha, A of them, in the penalty's unit.
    terms : int
        What the weights are divided by.

    Returns
    -------
    Tensor, (A, k)
        Without a graph.  The penalty may use autograd in whatever mode of PyTorch this
        is called.

    Raises
    ------
    KerhrmError
        If the penalty gives something else than k numbers, or its unit is no positive
        number.
    """
    penalty = PENALTIES[kind]()
    thetas = []
    with torch.inference_mode(False):  # gradients, also where the caller has none
        features = _differentiable(psi)
        returned = penalty.unit(features)
        unit = _number(kind, returned)
        risks = Risks(
            second=_differentiable(risks.second),
            cross=_differentiable(risks.cross),
            constant=_differentiable(risks.constant),
            weights=_differentiable(risks.weights),
            rho=_differentiable(risks.rho),
        )
        for alpha in alphas:
            weight = alpha * unit / terms
            theta = penalty.minimise(risks, weight)
            thetas.append(theta)
    for theta in thetas:
        k = risks.cross.shape[1]
        _check_minimiser(kind, theta, k=k)
    stacked = torch.stack(thetas)
    return stacked.detach()


def _number(kind: str, unit: Any) -> float:
    """The unit of a penalty; of a package's penalty it must be positive."""
    if isinstance(unit, Tensor):
        unit = unit.detach().cpu()
    try:
        array = np.asarray(unit, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.size == 1:
        scalar = array.reshape(())
        number = float(scalar)
        if number > 0 or PENALTIES.is_built_in(kind):
            return number
    got = f"shape {array.shape}" if array.size > 1 else shown(unit)
    problem = f"penalty {kind}: unit must return a positive number; got {got}"
    raise KerhrmError(problem, "return psi.new_ones(()) if alpha has no unit")


def _check_minimiser(kind: str, theta: object, k: int) -> None:
    """Refuse what is no minimiser; of a package's penalty also one that diverged."""
    where = f"penalty {kind}: minimise must return"
    hint = "return a tensor of k numbers"
    if not isinstance(theta, Tensor):
        problem = f"{where} a tensor; got {type(theta).__name__}"
        raise KerhrmError(problem, hint)
    if theta.shape != (k,):
        problem = f"{where} shape ({k},); got {tuple(theta.shape)}"
        raise KerhrmError(problem, "return one number for each feature")
    if PENALTIES.is_built_in(kind):  # imports no package, of which one may be broken
        return
    if not bool(torch.isfinite(theta).all()):
        raise KerhrmError(f"{where} finite numbers; got NaN or infinity", hint)


def _differentiable(tensor: Tensor) -> Tensor:
    """A tensor of inference mode, which autograd refuses, as an ordinary one."""
    return tensor.clone() if tensor.is_inference() else tensor
