"""Var of the environments' scale-gradients: what the released code penalises in classification."""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from kerhrm.algorithm.conditioning import solve
from kerhrm.algorithm.penalties.base import Penalty, Risks

TOLERANCE = 1e-10  #: of the gradient's entries at the minimum, as a share of those at theta = 0


class ScaleGradientVariance(Penalty):
    """Variance of the environments' scale-gradients, which IRMv1 knows.

    sum_e w_e (g_e - sum_f w_f g_f)^2, g_e = d L^e(s theta) / ds at s = 1.  With squared losses
    g_e = 2 theta^T (A_e theta - b_e), so that the penalty is of fourth order.  It is zero at theta
    = 0 and need not be convex: the minimum is the one that a trust region finds from alpha = 0 on.
    alpha has no unit; the released weight, 60 on the squared difference of two environments, is
    alpha = 240.
    """

    def unit(self, psi: Tensor) -> Tensor:
        return psi.new_ones(psi.shape[:-2])

    def value(self, risks: Risks, theta: Tensor) -> Tensor:
        scale_gradients = (risks.gradients(theta) * theta.unsqueeze(-2)).sum(-1)
        mean = (risks.weights * scale_gradients).sum(-1, keepdim=True)
        return (risks.weights * (scale_gradients - mean) ** 2).sum(-1)

    def minimise(self, risks: Risks, alpha: Tensor) -> Tensor:
        pooled, cross = risks.pooled
        start = solve(pooled, cross, "invariant direction")
        given = [
            t.cpu().numpy()
            for t in (pooled, cross, risks.second, risks.cross, risks.weights, start)
        ]
        alphas, found = np.broadcast_to(alpha.cpu(), cross.shape[:-1]), np.empty(cross.shape)
        for at in np.ndindex(alphas.shape):
            found[at] = _descend([array[at] for array in given], float(alphas[at]))
        return torch.from_numpy(found).to(cross)


def _descend(given: Sequence[np.ndarray], alpha: float) -> np.ndarray:
    """Argmin (k,) of theta^T P theta - 2 c^T theta + alpha sum_e w_e d_e^2.

    d_e = 2 (theta^T D_e theta - delta_e^T theta), where D_e and delta_e are A_e and b_e less means.
    ``given`` are P (k, k), c (k,), A (K, k, k), b (K, k), w (K,) and where to start (k,).
    """
    pooled, cross, second, crosses, weights, start = given
    deviation = second - np.tensordot(weights, second, 1)
    delta = crosses - weights @ crosses

    def differences(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bent = deviation @ theta
        return 2 * (bent - delta) @ theta, 2 * (2 * bent - delta)

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        d, slopes = differences(theta)
        value = theta @ pooled @ theta - 2 * cross @ theta + alpha * weights @ d**2
        return value, 2 * (pooled @ theta - cross + alpha * (weights * d) @ slopes)

    def hessian(theta: np.ndarray) -> np.ndarray:
        d, slopes = differences(theta)
        bend = (weights[:, None] * slopes).T @ slopes + 4 * np.tensordot(weights * d, deviation, 1)
        return np.asarray(2 * (pooled + alpha * bend))

    if alpha == 0:
        return start
    # in coordinates in which the pooled risk is round, or a few large eigenvalues rule the steps
    root = np.linalg.cholesky(pooled)
    lift = np.linalg.inv(root).T  # theta = lift z

    def rounded(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = objective(lift @ z)
        return value, lift.T @ slope

    found = minimize(
        rounded, root.T @ start, jac=True, hess=lambda z: lift.T @ hessian(lift @ z) @ lift,
        method="trust-exact", options={"gtol": TOLERANCE * np.abs(lift.T @ cross).max()},
    )  # fmt: skip
    return np.asarray(lift @ found.x)
