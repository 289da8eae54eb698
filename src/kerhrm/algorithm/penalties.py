"""Penalties of M_p: each is a class here, and a line in
:mod:`kerhrm.algorithm.registry`.
"""

import logging
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.problem import Risks
from kerhrm.errors import KerhrmError, SingularError

#: reciprocal condition number below which four digits or fewer are left
MIN_RCOND = 1e-12
#: logged then
ILL_CONDITIONED = (
    "the invariant direction's system is ill-conditioned, 1/cond = %.1e; raise ridge"
)
#: aimed at for a minimum's gradient, as a share of that at theta = 0; rounding ends
#: most searches at 1e-9 to 1e-8
GRADIENT_TOLERANCE = 1e-10
#: that share, above which a search has not found the minimum
TOO_STEEP = 1e-6
#: logged then
NOT_FOUND = (
    "the invariant direction's search ended with a gradient of %.1e times that at 0: %s"
)

log = logging.getLogger(__name__)


class Penalty(ABC):
    """A penalty, and how the pooled risk is minimised together with it.

    Both functions may use autograd.

    Examples
    --------
    A penalty of your own, the square of theta; ``unit`` says that alpha is a number.
    >>> import torch
    >>> from kerhrm.algorithm.penalties import Penalty
    >>> from kerhrm.algorithm.problem import Risks
    >>> risks = Risks(
    ...     second=torch.tensor([[[1.0]], [[4.0]]]), cross=torch.tensor([[1.0], [4.0]]),
    ...     constant=torch.ones(2), weights=torch.ones(2) / 2, rho=torch.tensor(0.0))
    >>> class Square(Penalty):
    ...     def unit(self, psi):
    ...         return psi.new_ones(())
    ...
    ...     def minimise(self, risks, alpha):
    ...         pooled, cross = risks.pooled
    ...         return torch.linalg.solve(pooled + alpha * torch.eye(1), cross)
    >>> Square().minimise(risks, alpha=2.5)
    tensor([0.5000])
    """

    @abstractmethod
    def unit(self, psi: Tensor) -> Tensor:
        """Weight that alpha = 1 stands for, given Psi (n, k)."""

    @abstractmethod
    def minimise(self, risks: Risks, alpha: float) -> Tensor:
        """Argmin (k,) of the pooled risk plus alpha times the penalty."""


class GradientVariance(Penalty):
    """Variance of the environments' gradients (paper, equation "theta_inv").

    ``sum_e w_e |grad L^e - sum_f w_f grad L^f|_M^2`` with ``|g|_M^2 = g^T M g``, M = I.
    It is quadratic in theta, so that M_p is one linear solve; alpha is in units of 1 /
    (mean eigenvalue of Psi^T Psi / n).

    Examples
    --------
    The slope 1 is the best one of both environments, so that no penalty moves it.
    >>> import torch
    >>> from kerhrm.algorithm.penalties import GradientVariance
    >>> from kerhrm.algorithm.problem import Risks
    >>> risks = Risks(
    ...     second=torch.tensor([[[1.0]], [[4.0]]]), cross=torch.tensor([[1.0], [4.0]]),
    ...     constant=torch.ones(2), weights=torch.ones(2) / 2, rho=torch.tensor(0.0))
    >>> GradientVariance().minimise(risks, alpha=10.0)
    tensor([1.])
    """

    def metric(self, risks: Risks, columns: Tensor) -> Tensor:
        """M times columns (K, k, m)."""
        return columns

    def unit(self, psi: Tensor) -> Tensor:
        squares = (psi**2).sum()
        return psi.numel() / squares

    def quadratic(self, risks: Risks) -> tuple[Tensor, Tensor]:
        """Q (k, k) and q (k,): the variance is theta^T Q theta - 2 q^T
        theta + const."""
        mean_second = risks.mean(risks.second)
        d_second = risks.second - mean_second
        mean_cross = risks.mean(risks.cross)
        d_cross = risks.cross - mean_cross
        metric_times = self.metric(risks, d_second)
        self._check_metric(metric_times, d_second)
        curvatures = d_second.mT @ metric_times
        matrix = risks.mean(curvatures)
        column = d_cross.unsqueeze(-1)
        slopes = metric_times.mT @ column
        target = risks.mean(slopes)
        vector = target.squeeze(-1)
        return 4 * matrix, 4 * vector

    def _check_metric(self, metric_times: Any, columns: Tensor) -> None:
        """Refuse another shape of M times columns (K, k, k) than theirs."""
        shape = getattr(metric_times, "shape", None)
        if shape == columns.shape:
            return
        got = type(metric_times).__name__ if shape is None else shape
        if isinstance(got, torch.Size):
            got = tuple(got)
        problem = f"penalty {type(self).__name__}: metric must return a tensor of"
        problem += f" the shape of its columns, {tuple(columns.shape)}; got {got}"
        raise KerhrmError(problem, "return M times the columns of each environment")

    def minimise(self, risks: Risks, alpha: float) -> Tensor:
        pooled, mean_cross = risks.pooled
        matrix, target = self.quadratic(risks)
        total = pooled + alpha * matrix
        total_cross = mean_cross + alpha * target
        return solve(total, total_cross)


class WhitenedGradientVariance(GradientVariance):
    """With M = (2 A + 2 rho I)^-1, the pooled risk's inverse Hessian.

    Alpha has no unit.

    Examples
    --------
    The slope 1 is the best one of both environments, so that no penalty moves it.
    >>> import torch
    >>> from kerhrm.algorithm.penalties import WhitenedGradientVariance
    >>> from kerhrm.algorithm.problem import Risks
    >>> risks = Risks(
    ...     second=torch.tensor([[[1.0]], [[4.0]]]), cross=torch.tensor([[1.0], [4.0]]),
    ...     constant=torch.ones(2), weights=torch.ones(2) / 2, rho=torch.tensor(0.0))
    >>> WhitenedGradientVariance().minimise(risks, alpha=10.0).round(decimals=4)
    tensor([1.])
    """

    def metric(self, risks: Risks, columns: Tensor) -> Tensor:
        pooled, _ = risks.pooled
        hessian = 2 * pooled
        solution, failures = torch.linalg.solve_ex(hessian, columns)
        if bool(failures.any()):
            raise _singular()
        return solution

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

    Examples
    --------
    The slope 1 is the best one of both environments, so that no penalty moves it.
    >>> import torch
    >>> from kerhrm.algorithm.penalties import ScaleGradientVariance
    >>> from kerhrm.algorithm.problem import Risks
    >>> risks = Risks(
    ...     second=torch.tensor([[[1.0]], [[4.0]]]), cross=torch.tensor([[1.0], [4.0]]),
    ...     constant=torch.ones(2), weights=torch.ones(2) / 2, rho=torch.tensor(0.0))
    >>> bool(torch.isclose(
    ...     ScaleGradientVariance().minimise(risks, alpha=240.0), torch.ones(1)).all())
    True
    """

    def unit(self, psi: Tensor) -> Tensor:
        return psi.new_ones(())

    def minimise(self, risks: Risks, alpha: float) -> Tensor:
        # a quarter of a second, and few options need it
        from scipy.optimize import minimize

        pooled, cross = risks.pooled
        start = solve(pooled, cross)
        if alpha == 0:
            return start
        function = _QuarticInRoundCoordinates(risks, alpha)
        slopes = function.lift.T @ function.cross
        largest = np.abs(slopes).max()
        tolerance = GRADIENT_TOLERANCE * largest
        round_start = function.root.T @ start.cpu().numpy()
        minimum = minimize(
            function.objective,
            round_start,
            jac=True,
            hess=function.hessian,
            method="trust-exact",
            options={"gtol": tolerance},
        )
        steepness = np.abs(minimum.jac).max()
        if not steepness <= TOO_STEEP * largest:
            log.warning(NOT_FOUND, steepness / largest, minimum.message)
        theta = function.lift @ minimum.x
        return torch.from_numpy(theta).to(cross)


class _QuarticInRoundCoordinates:
    """Pooled risk plus alpha times the variance of scale-gradients.

    It is a function of z, theta = lift z, in which the pooled risk is round: otherwise
    few large eigenvalues rule the steps of the trust region.
    """

    def __init__(self, risks: Risks, alpha: float) -> None:
        pooled, cross = risks.pooled
        mean_second = risks.mean(risks.second)
        mean_cross = risks.mean(risks.cross)
        self.alpha = alpha
        deviation = risks.second - mean_second
        self.deviation = deviation.cpu().numpy()
        delta = risks.cross - mean_cross
        self.delta = delta.cpu().numpy()
        self.pooled = pooled.cpu().numpy()
        self.cross = cross.cpu().numpy()
        self.weights = risks.weights.cpu().numpy()
        try:
            self.root = np.linalg.cholesky(self.pooled)
        except np.linalg.LinAlgError as error:
            raise _singular() from error
        inverse = np.linalg.inv(self.root)
        self.lift = inverse.T

    def differences(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g_e less their mean, (K,), and the slopes of these, (K, k)."""
        bent = self.deviation @ theta
        differences = 2 * (bent - self.delta) @ theta
        slopes = 2 * (2 * bent - self.delta)
        return differences, slopes

    def objective(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective and gradient (k,) at z (k,)."""
        theta = self.lift @ z
        d, slopes = self.differences(theta)
        weighted = self.weights * d
        penalty_slope = self.alpha * weighted @ slopes
        residual = self.pooled @ theta - self.cross
        slope = 2 * (residual + penalty_slope)
        curvature = theta @ self.pooled @ theta
        risk = curvature - 2 * self.cross @ theta
        squares = d**2
        penalty = self.alpha * self.weights @ squares
        round_slope = self.lift.T @ slope
        return risk + penalty, round_slope

    def hessian(self, z: np.ndarray) -> np.ndarray:
        """Second derivatives (k, k) at z (k,)."""
        theta = self.lift @ z
        d, slopes = self.differences(theta)
        weighted = self.weights[:, None] * slopes
        of_slopes = weighted.T @ slopes
        weights = self.weights * d
        weighted_deviations = np.tensordot(weights, self.deviation, 1)
        of_differences = 4 * weighted_deviations
        bend = of_slopes + of_differences
        total = self.pooled + self.alpha * bend
        hessian = 2 * total
        return self.lift.T @ hessian @ self.lift


def _singular() -> SingularError:
    return SingularError("the invariant direction's equations", "ridge")


def solve(matrix: Tensor, target: Tensor) -> Tensor:
    """Solve A x = b, float64: A (k, k), b (k,); logs a warning if A is ill-conditioned.

    Raises
    ------
    SingularError
        If the matrix is exactly singular.
    """
    factors, pivots, zero_pivot = torch.linalg.lu_factor_ex(matrix)
    eye = torch.eye(len(matrix)).to(matrix)
    inverse = torch.linalg.lu_solve(factors, pivots, eye)
    norm = torch.linalg.matrix_norm(matrix, 1)
    norm_of_inverse = torch.linalg.matrix_norm(inverse, 1)
    reciprocal = 1 / (norm * norm_of_inverse)
    # one number for the host: a GPU would else be waited for twice
    rcond = float(reciprocal.masked_fill(zero_pivot > 0, -1))
    if rcond < 0:
        raise _singular()
    if not rcond >= MIN_RCOND:
        log.warning(ILL_CONDITIONED, rcond)
    column = target[:, None]
    solution = torch.linalg.lu_solve(factors, pivots, column)
    return solution[:, 0]
