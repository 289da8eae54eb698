"""Penalties of M_p: each is a class here, and a line in
:mod:`kerhrm.algorithm.registry`.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.registry import PENALTIES
from kerhrm.errors import KerhrmError, shown

MIN_RCOND = (
    1e-12  #: reciprocal condition number below which four digits or fewer are left
)
GRADIENT_TOLERANCE = 1e-10  #: of a minimum's gradient, as a share of that at theta = 0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Risks:
    """Squared losses L^e(theta) = theta^T A_e theta - 2 b_e^T theta + c_e of K
    environments.

    Attributes
    ----------
    second, cross, constant : Tensor, (K, k, k), (K, k), (K,)
        A_e, b_e and c_e.
    weights : Tensor, (K,)
        w_e, which sum to one; 0 for environments without any point.
    rho : Tensor, ()
        Ridge of the pooled risk ``sum_e w_e L^e + rho |theta|^2``.
    """

    second: Tensor
    cross: Tensor
    constant: Tensor
    weights: Tensor
    rho: Tensor

    def mean(self, values: Tensor) -> Tensor:
        """Weighted mean sum_e w_e v_e of values (K, ...)."""
        return torch.tensordot(self.weights, values, 1)

    def losses(self, theta: Tensor) -> Tensor:
        """L^e(theta) (K,) of a direction theta (k,)."""
        return (self.second @ theta - 2 * self.cross) @ theta + self.constant

    @property
    def pooled(self) -> tuple[Tensor, Tensor]:
        """A + rho I (k, k) and b (k,) of the pooled risk."""
        eye = torch.eye(
            self.cross.shape[-1], dtype=self.cross.dtype, device=self.cross.device
        )
        return self.mean(self.second) + self.rho * eye, self.mean(self.cross)


class Penalty(ABC):
    """A penalty, and how the pooled risk is minimised together with it.

    Both functions may use autograd.
    """

    @abstractmethod
    def unit(self, psi: Tensor) -> Tensor:
        """Weight that alpha = 1 stands for, given Psi (n, k)."""

    @abstractmethod
    def minimise(self, risks: Risks, alpha: float) -> Tensor:
        """Argmin (k,) of the pooled risk plus alpha times the penalty."""


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
        A weights, in the penalty's unit.
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
    with torch.inference_mode(False), torch.enable_grad():
        unit = _number(kind, penalty.unit(_differentiable(psi)))
        values = {one.name: getattr(risks, one.name) for one in fields(risks)}
        risks = Risks(**{name: _differentiable(one) for name, one in values.items()})
        found = [penalty.minimise(risks, alpha * unit / terms) for alpha in alphas]
    for theta in found:
        _check_minimiser(kind, theta, risks.cross.shape[1])
    return torch.stack(found).detach()


def _number(kind: str, unit: Any) -> float:
    """The unit of a penalty; of a package's penalty it must be positive."""
    value = unit.detach().cpu() if isinstance(unit, Tensor) else unit
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    positive = array.size == 1 and bool(array.reshape(()) > 0)
    if array.size != 1 or not (positive or PENALTIES.is_built_in(kind)):
        got = f"shape {array.shape}" if array.size > 1 else shown(value)
        problem = f"penalty {kind}: unit must return a positive number; got {got}"
        raise KerhrmError(problem, "return psi.new_ones(()) if alpha has no unit")
    return float(array.reshape(()))


def _check_minimiser(kind: str, theta: object, k: int) -> None:
    """Refuse what is no minimiser; of a package's penalty also one that diverged."""
    where, hint = (
        f"penalty {kind}: minimise must return",
        "return a tensor of k numbers",
    )
    if not isinstance(theta, Tensor):
        problem = f"{where} a tensor; got {type(theta).__name__}"
        raise KerhrmError(problem, hint)
    if theta.shape != (k,):
        problem = f"{where} shape ({k},); got {tuple(theta.shape)}"
        raise KerhrmError(problem, "return one number for each feature")
    own = PENALTIES.is_built_in(kind)  # imports no package, of which one may be broken
    if not own and not bool(torch.isfinite(theta).all()):
        raise KerhrmError(f"{where} finite numbers; got NaN or infinity", hint)


def _differentiable(tensor: Tensor) -> Tensor:
    """A tensor of inference mode, which autograd refuses, as an ordinary one."""
    return tensor.clone() if tensor.is_inference() else tensor


class GradientVariance(Penalty):
    """Variance of the environments' gradients (paper, equation "theta_inv").

    ``sum_e w_e |grad L^e - sum_f w_f grad L^f|_M^2`` with ``|g|_M^2 = g^T M g``, M = I.
    It is quadratic in theta, so that M_p is one linear solve; alpha is in units of 1 /
    (mean eigenvalue of Psi^T Psi / n).
    """

    def metric(self, risks: Risks, columns: Tensor) -> Tensor:
        """M times columns (K, k, m)."""
        return columns

    def unit(self, psi: Tensor) -> Tensor:
        return psi.numel() / (psi**2).sum()

    def quadratic(self, risks: Risks) -> tuple[Tensor, Tensor]:
        """Q (k, k) and q (k,): the variance is theta^T Q theta - 2 q^T
        theta + const."""
        d_second = risks.second - risks.mean(risks.second)
        d_cross = (risks.cross - risks.mean(risks.cross)).unsqueeze(-1)
        metric_times = self.metric(risks, d_second)
        if getattr(metric_times, "shape", None) != d_second.shape:
            got = getattr(metric_times, "shape", type(metric_times).__name__)
            got = tuple(got) if isinstance(got, torch.Size) else got
            problem = f"penalty {type(self).__name__}: metric must return a tensor of"
            problem += f" the shape of its columns, {tuple(d_second.shape)}; got {got}"
            raise KerhrmError(problem, "return M times the columns of each environment")
        target = risks.mean(metric_times.mT @ d_cross).squeeze(-1)
        return 4 * risks.mean(d_second.mT @ metric_times), 4 * target

    def minimise(self, risks: Risks, alpha: float) -> Tensor:
        pooled, mean_cross = risks.pooled
        matrix, target = self.quadratic(risks)
        return solve(pooled + alpha * matrix, mean_cross + alpha * target)


class WhitenedGradientVariance(GradientVariance):
    """With M = (2 A + 2 rho I)^-1, the pooled risk's inverse Hessian.

    Alpha has no unit.
    """

    def metric(self, risks: Risks, columns: Tensor) -> Tensor:
        pooled, _ = risks.pooled
        return torch.linalg.solve(2 * pooled, columns)

    def unit(self, psi: Tensor) -> Tensor:
        return psi.new_ones(())


class ScaleGradientVariance(Penalty):
    """Variance of the environments' scale-gradients.

    IRMv1's, as in the authors' classification.

    sum_e w_e (g_e - sum_f w_f g_f)^2, g_e = d L^e(s theta) / ds at s = 1.  With squared
    losses g_e = 2 theta^T (A_e theta - b_e), so that the penalty is of fourth order.
    It is zero at theta = 0 and need not be convex: the minimum is the one that a trust
    region finds from alpha = 0 on. alpha has no unit; the authors' weight, 60 on the
    squared difference of two environments, is alpha = 240.
    """

    def unit(self, psi: Tensor) -> Tensor:
        return psi.new_ones(())

    def minimise(self, risks: Risks, alpha: float) -> Tensor:
        from scipy.optimize import (
            minimize,
        )  # a quarter of a second, and few options need it

        pooled, cross = risks.pooled
        start = solve(pooled, cross)
        if alpha == 0:
            return start
        deviation = (risks.second - risks.mean(risks.second)).cpu().numpy()
        delta = (risks.cross - risks.mean(risks.cross)).cpu().numpy()
        p, c, w = (t.cpu().numpy() for t in (pooled, cross, risks.weights))
        # in coordinates where the pooled risk is round, or few large eigenvalues rule
        # the steps
        root = np.linalg.cholesky(p)
        lift = np.linalg.inv(root).T  # theta = lift z

        def differences(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """g_e less their mean, (K,), and the slopes of these, (K, k)."""
            bent = deviation @ theta
            return 2 * (bent - delta) @ theta, 2 * (2 * bent - delta)

        def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
            theta = lift @ z
            d, slopes = differences(theta)
            slope = 2 * (p @ theta - c + alpha * (w * d) @ slopes)
            return theta @ p @ theta - 2 * c @ theta + alpha * w @ d**2, lift.T @ slope

        def hessian(z: np.ndarray) -> np.ndarray:
            d, slopes = differences(lift @ z)
            bend = (w[:, None] * slopes).T @ slopes + 4 * np.tensordot(
                w * d, deviation, 1
            )
            return lift.T @ (2 * (p + alpha * bend)) @ lift

        tolerance = GRADIENT_TOLERANCE * np.abs(lift.T @ c).max()
        found = minimize(
            objective,
            root.T @ start.cpu().numpy(),
            jac=True,
            hess=hessian,
            method="trust-exact",
            options={"gtol": tolerance},
        )
        return torch.from_numpy(lift @ found.x).to(cross)


def solve(matrix: Tensor, target: Tensor) -> Tensor:
    """Solve A x = b, float64: A (k, k), b (k,); logs a warning if A is ill-conditioned.

    Raises
    ------
    torch.linalg.LinAlgError
        If the matrix is exactly singular.
    """
    factors, pivots = torch.linalg.lu_factor(matrix)
    inverse = torch.linalg.lu_solve(factors, pivots, torch.eye(len(matrix)).to(matrix))
    rcond = 1 / (
        torch.linalg.matrix_norm(matrix, 1) * torch.linalg.matrix_norm(inverse, 1)
    )
    if not float(rcond) >= MIN_RCOND:
        message = (
            "the invariant direction's system is ill-conditioned, 1/cond = %.1e; "
            "raise ridge"
        )
        log.warning(message, float(rcond))
    return torch.linalg.lu_solve(factors, pivots, target[:, None])[:, 0]
