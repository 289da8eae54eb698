"""Steps of EM for mixtures of kernel ridge regressions.

The model and the formulas of both steps are in :mod:`kerhrm.algorithm.mixture`.

R mixtures belong to one data set, psi (n, k) and y (n,), or to S of as many points
each, psi (S, n, k) and y (S, n): then the first R / S belong to the first of them.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.conjugate_gradients import ConjugateGradients
from kerhrm.algorithm.regressions import (
    ClusterMoments,
    Regressions,
    is_large,
    products,
    repeated,
)

LOG_2PI = float(np.log(2 * np.pi))
#: tolerance of regressions that are solved step by step, in units of EM's
REGRESSION_TOLERANCE = 1e-2


@dataclass(frozen=True)
class EM:
    """How EM is run.

    Attributes
    ----------
    noise_sd : float, optional
        Fixes sigma, which is estimated in each M step by default.
    per_cluster : bool
        Estimate a sigma for each cluster.
    hard : bool
        Let E steps assign whole points.
    max_iter : int
        EM ends after so many steps.
    tol : float
        EM ends when L_c falls by less in one step.
    """

    noise_sd: float | None = None
    per_cluster: bool = False
    hard: bool = False
    max_iter: int = 300
    tol: float = 1e-5


@dataclass(frozen=True)
class Estimates:
    """What an M step finds for R mixtures.

    Attributes
    ----------
    theta : Tensor, (R, K, k)
        Coefficients of the regressions.
    squares : Tensor, (R, K, n)
        Their squared residuals.
    weights, sigma : Tensor, (R, K)
        Shares of the points, and standard deviations of the residuals.
    penalty : Tensor, (R, K)
        rho |Theta_j|^2.
    singular : Tensor, (), bool
        Whether rounding made the system of one of the regressions singular.
    """

    theta: Tensor
    squares: Tensor
    weights: Tensor
    sigma: Tensor
    penalty: Tensor
    singular: Tensor


class Steps:
    """M steps and E steps on psi (n, k), y (n,), and cells and weights of the points
    (n,), or on several data sets (S, n, k), (S, n) without cells and weights."""

    def __init__(
        self,
        psi: Tensor,
        y: Tensor,
        settings: EM,
        n_clusters: int,
        cells: Tensor | None,
        point_weights: Tensor | None,
    ) -> None:
        self.psi = psi
        self.y = y
        self.settings = settings
        self.n_clusters = n_clusters
        self.cells = cells
        self.point_weights = point_weights
        n = y.shape[-1]
        self.counts = y.new_ones(n) if point_weights is None else point_weights
        self.members = None if cells is None else one_hot(cells).to(psi)
        self.regressions: Regressions
        if is_large(psi):
            self.regressions = ConjugateGradients(
                psi,
                y,
                self.counts,
                tolerance=REGRESSION_TOLERANCE * settings.tol,
                noise_sd=settings.noise_sd,
            )
        else:
            self.regressions = ClusterMoments(psi, y, self.counts)
        deviation = y.std(-1) if n > 1 else y.new_zeros(())
        self.sigma_floor = 1e-6 * deviation.reshape(-1, 1)

    def maximise(self, r: Tensor, rho: Tensor, near: Tensor) -> Estimates:
        """M step: the parameters given responsibilities (R, K, n) and rho (R,).

        Of large systems coefficients are searched from ``near`` (R, K, k).
        """
        n = self.y.shape[-1]
        if self.point_weights is not None:
            r = r * self.point_weights
        ridge = n * rho
        theta, singular = self.regressions.solve(r, ridge, near)
        squares = squared_residuals(self.psi, self.y, theta)
        weights = r.mean(-1)
        length2 = (theta**2).sum(-1)
        unit = rho[:, None]
        penalty = unit * length2
        sums = torch.linalg.vecdot(r, squares)
        variance = sums / n + penalty
        if self.settings.per_cluster:
            smallest = 1 / n**2
            shares = weights.clamp_min(smallest)
            variance = variance / shares
        else:
            pooled = variance.sum(-1, keepdim=True)
            variance = pooled.expand_as(weights)
        deviation = variance.sqrt()
        sigma_floor = repeated(self.sigma_floor, len(r))
        sigma = deviation.clamp_min(sigma_floor)
        if self.settings.noise_sd is not None:
            sigma = torch.full_like(sigma, self.settings.noise_sd)
        return Estimates(
            theta=theta,
            squares=squares,
            weights=weights,
            sigma=sigma,
            penalty=penalty,
            singular=singular,
        )

    def expect(self, estimates: Estimates) -> tuple[Tensor, Tensor, Tensor]:
        """E step: weights q, responsibilities (R, K, n), and L_c (R,) of the
        parameters, whose squared residuals it overwrites."""
        log_joint = self._log_joint(estimates)
        if self.settings.hard:
            log_likelihood, likeliest = log_joint.max(dim=-2, keepdim=True)
            nowhere = torch.zeros_like(log_joint)
            r = nowhere.scatter_(-2, likeliest, 1.0)
        else:
            log_likelihood = log_joint.amax(-2, keepdim=True)
            ratios = log_joint.sub_(log_likelihood)
            r = ratios.exp_()
            total = r.sum(-2, keepdim=True)
            log_likelihood.add_(total.log())
            r /= total
        weights = estimates.weights
        if self.cells is None:
            log_likelihood *= self.counts
        else:
            weights = r
            r = r[..., self.cells]
        precision = 2 * estimates.sigma**2
        shrinkages = estimates.penalty / precision
        shrinkage = shrinkages.sum(-1)
        total_log_likelihood = log_likelihood.sum((-2, -1))
        mean_log_likelihood = total_log_likelihood / self.y.shape[-1]
        objective = shrinkage - mean_log_likelihood
        return weights, r, objective

    def _log_joint(self, estimates: Estimates) -> Tensor:
        """log q_j p(y | Theta_j, sigma_j) of every point, (R, K, n), or cell,
        (R, K, C)."""
        if self.members is None:
            return log_density(estimates.squares, estimates.weights, estimates.sigma)
        certain = torch.ones_like(estimates.weights)
        of_points = log_density(estimates.squares, certain, estimates.sigma)
        weighted = of_points * self.counts
        of_cells = weighted @ self.members
        of_cells -= math.log(self.n_clusters)
        return of_cells


def squared_residuals(psi: Tensor, y: Tensor, theta: Tensor) -> Tensor:
    """(y_i - psi_i^T Theta_j)^2: (n, k), (n,), (..., K, k) to (..., K, n).

    Of several data sets: (S, n, k), (S, n), (R, K, k) to (R, K, n).
    """
    predictions = products(theta, psi.mT)
    if y.ndim > 1:
        of_each = y[:, None]
        y = repeated(of_each, len(theta))
    residuals = predictions.sub_(y)
    return residuals.square_()


def log_density(
    squares: Tensor, weights: Tensor, sigma: Tensor, cells: Tensor | None = None
) -> Tensor:
    """log q_j + log N(residual | 0, sigma_j^2), (..., K, n), in the place of squared
    residuals.

    Empty clusters (weight 0) have -inf and stay empty.
    """
    precision = -0.5 / sigma**2
    log_sigma = sigma.log()
    if cells is not None:
        log_sigma = log_sigma.unsqueeze(-1)
    level = weights.log() - log_sigma - 0.5 * LOG_2PI
    of_points = level.unsqueeze(-1)
    if cells is not None:
        of_points = level[..., cells]
    scaled = squares.mul_(precision.unsqueeze(-1))
    return scaled.add_(of_points)
