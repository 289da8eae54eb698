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
from kerhrm.algorithm.problem import weighted_moments

LOG_2PI = float(np.log(2 * np.pi))
#: entries of all products psi_a psi_b up to which they are stored: 0.5 GB in float64
PRODUCTS_LIMIT = 2**26
#: points beyond which each product of two columns lies together in memory: sums over
#: the points, which the cache does not hold, take half the time
MANY_POINTS = 2**13
#: n k^2 from which a processor solves the regressions by conjugate gradients: a second
#: for the moments of one cluster
SOLVE_BY_GRADIENTS = 2**33
#: their tolerance, in units of EM's
FINER = 1e-2


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


def _large(psi: Tensor) -> bool:
    """Whether the moments of psi (n, k) cost more than conjugate gradients; of several
    data sets they are small, and a GPU multiplies fast enough."""
    if psi.ndim > 2 or psi.is_cuda:
        return False
    n, k = psi.shape
    return n * k**2 >= SOLVE_BY_GRADIENTS


class ClusterMoments:
    """Moments of every cluster of many mixtures, psi (n, k) and y (n,).

    Where it fits, the products psi_a psi_b of all points are stored once as an n x
    k(k+1)/2 matrix, so that the moments of every mixture and cluster are one matrix
    product; of several data sets, (S, n, k) and (S, n), they are in any case.  The last
    cluster's moments are what the others leave of the sum: responsibilities add up to
    ``counts`` (n,).
    """

    def __init__(self, psi: Tensor, y: Tensor, counts: Tensor) -> None:
        n, k = psi.shape[-2:]
        self.psi = psi
        self.y = y
        self.products: Tensor | None = None
        n_products = k * (k + 1) // 2
        several = psi.ndim == 3
        if several or n * n_products <= PRODUCTS_LIMIT:
            self.products = column_products(psi)
            self.psi_y = psi * y[..., None]
            rows, columns = torch.triu_indices(k, k, device=psi.device)
            position = torch.empty(k, k, dtype=torch.int64, device=psi.device)
            numbers = torch.arange(len(rows), device=psi.device)
            position[rows, columns] = numbers
            position[columns, rows] = numbers
            self.unpack = position.flatten()
        if several:
            everyone = counts.expand(len(psi), 1, n)
            second, cross = self._moments(everyone)
            self.total_second = second.squeeze(1)
            self.total_cross = cross.squeeze(1)
        else:
            everyone = counts[None]
            self.total_second, self.total_cross = weighted_moments(psi, y, everyone)

    def weighted(self, r: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (R, K, k, k) and (R, K, k) of responsibilities (R, K, n)."""
        but_last = r[:, :-1]
        second, cross = self._moments(but_last)
        n_mixtures = len(r)
        total_second = repeated(self.total_second, n_mixtures)
        total_cross = repeated(self.total_cross, n_mixtures)
        last_second = total_second - second.sum(1)
        last_cross = total_cross - cross.sum(1)
        last_second_row = last_second.unsqueeze(1)
        second = torch.cat([second, last_second_row], 1)
        last_cross_row = last_cross.unsqueeze(1)
        cross = torch.cat([cross, last_cross_row], 1)
        return second, cross

    def _moments(self, weightings: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (R, J, k, k) and (R, J, k) of weightings (R, J, n) of the points."""
        k = self.psi.shape[-1]
        shape = weightings.shape[:-1]
        if self.products is not None:
            packed = products(weightings, self.products)
            unpacked = packed.index_select(-1, self.unpack)
            second = unpacked.reshape(*shape, k, k)
            return second, products(weightings, self.psi_y)
        flat = weightings.flatten(0, 1)
        second, cross = weighted_moments(self.psi, self.y, flat)
        return second.reshape(*shape, k, k), cross.reshape(*shape, k)


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
        self.regressions: ClusterMoments | ConjugateGradients
        if _large(psi):
            tolerance = FINER * settings.tol
            self.regressions = ConjugateGradients(psi, y, self.counts, tolerance)
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
        theta, singular = self._ridge_regressions(r, ridge, near)
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

    def _ridge_regressions(
        self, r: Tensor, ridge: Tensor, near: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Coefficients (R, K, k) by r (R, K, n) and ridge (R,); and whether a system is
        singular, which a GPU need not wait for."""
        if isinstance(self.regressions, ConjugateGradients):
            penalty = ridge.repeat_interleave(self.n_clusters)
            flat = self.regressions.solve(r.flatten(0, 1), penalty, near.flatten(0, 1))
            never = torch.zeros((), dtype=torch.bool, device=r.device)
            return flat.reshape(near.shape), never
        second, cross = self.regressions.weighted(r)
        diagonal = second.diagonal(dim1=-2, dim2=-1)
        diagonal.add_(ridge[:, None, None])
        factor, failures = torch.linalg.cholesky_ex(second)
        column = cross.unsqueeze(-1)
        solution = torch.cholesky_solve(column, factor)
        return solution.squeeze(-1), failures.any()

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


def column_products(psi: Tensor) -> Tensor:
    """Products psi_a psi_b, a <= b, of each point: (..., n, k) to (..., n,
    k(k+1)/2), in the order of ``torch.triu_indices``."""
    *shape, k = psi.shape
    n_products = k * (k + 1) // 2
    if psi.ndim == 2 and len(psi) > MANY_POINTS:
        psi = psi.mT.contiguous().mT
        packed = psi.new_empty(n_products, len(psi)).mT
    else:
        packed = psi.new_empty(*shape, n_products)
    first = 0
    for a in range(k):  # several times faster than two gathers
        stop = first + k - a
        torch.mul(psi[..., a:], psi[..., a : a + 1], out=packed[..., first:stop])
        first = stop
    return packed


def products(left: Tensor, right: Tensor) -> Tensor:
    """Products of (..., J, a) with (a, b), or of (R, J, a) with those of their data
    sets, (S, a, b)."""
    *shape, _ = left.shape
    if right.ndim == 2:
        flat = left.flatten(0, -2)
    else:
        n_sets, n_inner, _ = right.shape
        n_mixtures, n_rows = shape
        of_each_set = n_mixtures // n_sets * n_rows
        flat = left.reshape(n_sets, of_each_set, n_inner)
    flat_products = flat @ right
    return flat_products.reshape(*shape, right.shape[-1])


def repeated(of_sets: Tensor, n_mixtures: int) -> Tensor:
    """What is told of each data set (S, ...), for each of its mixtures (R, ...)."""
    n_sets = len(of_sets)
    if n_sets == 1:
        return of_sets
    return of_sets.repeat_interleave(n_mixtures // n_sets, 0)


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
