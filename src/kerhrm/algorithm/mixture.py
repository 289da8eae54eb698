"""Mixture of kernel ridge regressions (M_c), fitted by EM.

Model (paper, section 3.3).  Point i belongs to environment j with probability q_j, and
inside environment j the label is Gaussian around a regression on the variant features:
y_i ~ N(psi_V(x_i)^T Theta_j, sigma^2).  EM minimises the penalised negative
log-likelihood per point

    L_c = -(1/n) sum_i log sum_j q_j N(y_i | psi_i^T Theta_j, sigma^2)
          + (rho / 2 sigma^2) sum_j |Theta_j|^2,

rho = ``ridge`` times the mean eigenvalue of Psi_V^T Psi_V / n (so ``ridge`` has no
unit).  Every step is in closed form: the responsibilities r_ij, computed in log space;
Theta_j = (Psi^T R_j Psi + n rho I)^-1 Psi^T R_j y, which is kernel ridge regression
with kappa_c = Psi_V Psi_V^T in its primal form; q_j = mean_i r_ij; and sigma^2 = (1/n)
sum_ij r_ij (y_i - psi_i^T Theta_j)^2 + rho sum_j |Theta_j|^2, which minimises L_c
jointly with Theta, so that L_c never rises.  The paper leaves sigma open; ``noise_sd``
fixes it.

With a sigma_j for each cluster, rho |Theta_j|^2 is divided by 2 sigma_j^2, and
sigma_j^2 is (1/n) sum_i r_ij (y_i - psi_i^T Theta_j)^2 + rho |Theta_j|^2 over q_j.  If
E steps are hard, r_ij is 1 for the largest q_j N(...) and 0 otherwise, and L_c has
max_j in place of sum_j.

With cells c of an auxiliary variable a whole cell belongs to one cluster, whatever its
labels are:

    L_c = -(1/n) sum_c log mean_j prod_(i in c) N(y_i | psi_i^T Theta_j, sigma_j^2) +
    ...,

r_cj is in proportion to these products, and q_j(c) = r_cj.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

LOG_2PI = float(np.log(2 * np.pi))
#: entries of all products psi_a psi_b up to which they are stored: 0.5 GB in float64
PRODUCTS_LIMIT = 2**26
#: entries of Psi that are weighted at once: 64 MB in float64
CHUNK = 2**23


@dataclass(frozen=True)
class Mixture:
    """R fitted mixtures of K regressions.

    Attributes
    ----------
    theta : Tensor, (R, K, k)
        Coefficients of the regressions.
    weights : Tensor, (R, K) or (R, K, C)
        q, shares of the points; where there are cells, of every cell.
    sigma : Tensor, (R, K)
        Standard deviation of the residuals.
    objective : Tensor, (R,)
        L_c at the last step, in nats per point.
    n_iterations : Tensor, (R,), int64
        EM steps.
    converged : Tensor, (R,), bool
        False where ``max_iter`` was reached first.
    """

    theta: Tensor
    weights: Tensor
    sigma: Tensor
    objective: Tensor
    n_iterations: Tensor
    converged: Tensor

    def take(self, index: int | Tensor) -> Self:
        """Return one of the mixtures, without the leading R."""
        return type(self)(
            **{f.name: getattr(self, f.name)[index] for f in fields(self)}
        )

    def responsibilities(self, psi: Tensor, y: Tensor) -> Tensor:
        """P(environment j | psi_i, y_i) of points (n, k), (n,), without cells.

        Shapes (R, n, K).
        """
        return torch.softmax(self._log_joint(psi, y), dim=-2).mT.contiguous()

    def log_likelihood(
        self,
        psi: Tensor,
        y: Tensor,
        cells: Tensor | None = None,
        point_weights: Tensor | float = 1.0,
    ) -> Tensor:
        """Mean log p(y_i | psi_i) of points (n, k), (n,) in cells (n,),
        in nats: (R,)."""
        values = torch.logsumexp(self._log_joint(psi, y, cells), dim=-2)
        return (values * point_weights).mean(-1)

    def _log_joint(self, psi: Tensor, y: Tensor, cells: Tensor | None = None) -> Tensor:
        return _log_joint(_squares(psi, y, self.theta), self.weights, self.sigma, cells)


def fit_mixture(
    psi: Tensor,
    y: Tensor,
    start: Tensor,
    *,
    ridge: float | Tensor,
    cells: Tensor | None = None,
    point_weights: Tensor | None = None,
    noise_sd: float | None = None,
    per_cluster: bool = False,
    hard: bool = False,
    max_iter: int = 300,
    tol: float = 1e-5,
) -> Mixture:
    """Fit R mixtures of K regressions to one data set by EM.

    Parameters
    ----------
    psi : Tensor, (n, k)
        Variant features Psi_V, float64.
    y : Tensor, (n,)
        What the regressions explain: labels, or labels minus the offset f_0; float64.
    start : Tensor, (R, n, K)
        Responsibilities at the start.
    ridge : float or Tensor, (R,)
        Positive, in units of the mean eigenvalue of Psi^T Psi / n.
    cells : Tensor, (n,), int64, optional
        0, ..., C - 1: the cell of every point, whose points belong together.
    point_weights : Tensor, (n,), optional
        Of mean 1: sums over points become weighted sums.
    noise_sd : float, optional
        Fixes sigma, which is estimated in each M step by default.
    per_cluster : bool
        Estimate a sigma for each cluster.
    hard : bool
        Let E steps assign whole points.
    max_iter, tol
        EM ends after so many steps, or when L_c falls by less than ``tol`` in one step.

    Returns
    -------
    Mixture
        One for each start.

    Raises
    ------
    KerhrmError
        If K > n, the ridge is not positive (Psi_V is singular after projection), or all
        features or all labels are zero.

    Examples
    --------
    >>> import torch
    >>> psi = torch.ones(4, 1).double()
    >>> y = torch.tensor([1.0, 1.0, -1.0, -1.0]).double()
    >>> start = torch.tensor([[[0.6, 0.4]] * 2 + [[0.4, 0.6]] * 2]).double()
    >>> fit_mixture(psi, y, start, ridge=1e-6).theta.round().flatten()
    tensor([ 1., -1.], dtype=torch.float64)
    """
    n, n_clusters = start.shape[-2:]
    if not bool(psi.any()) or not bool(y.any()):
        hint = "use k > 1 (with k=1 the first iteration leaves nothing), or other data"
        raise KerhrmError("all features or all labels of a data set are zero", hint)
    if n_clusters > n:
        raise KerhrmError(
            f"n_environments={n_clusters} exceeds n={n} training points",
            "lower n_environments",
        )
    ridges = torch.as_tensor(ridge, dtype=psi.dtype, device=psi.device).expand(
        len(start)
    )
    if not bool((ridges > 0).all()):
        raise KerhrmError(f"ridge must be positive; got {ridge}", "try 0.01")
    rho = ridges * (psi**2).sum() / psi.numel()  # (R,)
    counts = torch.ones_like(y) if point_weights is None else point_weights
    moments = ClusterMoments(psi, y, counts)
    members = None if cells is None else one_hot(cells).to(psi)
    sigma_floor = 1e-6 * float(y.std())
    done: dict[str, Tensor] = {}
    # finished mixtures leave the batch
    active = torch.arange(len(start), device=psi.device)
    # (R, K, n): sums over the few clusters are sums of whole rows
    r = start.mT.contiguous()
    previous = psi.new_full((len(start),), torch.inf)
    for iteration in range(1, max_iter + 1):
        # M step
        if point_weights is not None:
            r = r * point_weights
        theta = _ridge_regressions(moments.of(r), n * rho)
        squares = _squares(psi, y, theta)
        weights = r.mean(-1)
        penalty = rho[:, None] * (theta**2).sum(-1)  # (R, K)
        variance = torch.linalg.vecdot(r, squares) / n + penalty
        if per_cluster:
            variance = variance / weights.clamp_min(1 / n**2)
        else:
            variance = variance.sum(-1, keepdim=True).expand_as(weights)
        sigma = variance.sqrt().clamp_min(sigma_floor)
        if noise_sd is not None:
            sigma = torch.full_like(sigma, noise_sd)
        # E step, and L_c of the parameters just found
        if members is None:
            log_joint = _log_joint(squares, weights, sigma)
        else:  # (R, K, C)
            log_joint = (
                _log_joint(squares, torch.ones_like(weights), sigma) * counts @ members
            )
            log_joint -= math.log(n_clusters)
        if hard:
            log_likelihood, likeliest = log_joint.max(dim=-2, keepdim=True)
            r = torch.zeros_like(log_joint).scatter_(-2, likeliest, 1.0)
        else:
            log_likelihood = log_joint.amax(-2, keepdim=True)
            r = log_joint.sub_(log_likelihood).exp_()
            total = r.sum(-2, keepdim=True)
            log_likelihood.add_(total.log())
            r /= total
        if members is None:
            log_likelihood *= counts
        else:
            weights, r = r, r[..., cells]
        objective = (penalty / (2 * sigma**2)).sum(-1) - log_likelihood.sum(
            (-2, -1)
        ) / n

        converged = previous - objective < tol
        finished = converged | (iteration == max_iter)
        if bool(finished.any()):
            steps = torch.full_like(active, iteration)
            values = (theta, weights, sigma, objective, steps, converged)
            found = dict(zip((f.name for f in fields(Mixture)), values, strict=True))
            done = done or {
                k: v.new_zeros(len(start), *v.shape[1:]) for k, v in found.items()
            }
            gone, left = finished.nonzero().squeeze(1), (~finished).nonzero().squeeze(1)
            for name, value in found.items():
                done[name].index_copy_(0, active[gone], value[gone])
            active, r, objective, rho = (t[left] for t in (active, r, objective, rho))
            if len(active) == 0:
                break
        previous = objective
    return Mixture(**done)


def orthogonal_update(psi: Tensor, theta: Tensor) -> Tensor:
    """Take a direction out of Psi (paper, equation "transform").

    ``Psi_V = Psi - (Psi theta) theta^T / |theta|^2`` of Psi (n, k) and theta (k,); Psi
    itself where theta is zero.
    """
    length = theta.norm()
    unit = torch.where(length > 0, theta / length, 0.0)
    return psi - (psi @ unit)[:, None] * unit


def random_starts(
    seed: int, n_init: int, n: int, n_clusters: int, *name: str
) -> Tensor:
    """Random hard assignments (R, n, K), float64, from the stream ``clustering``,
    ``name``."""
    draw = stream(seed, "clustering", *name).integers(n_clusters, size=(n_init, n))
    return one_hot(torch.from_numpy(draw), n_clusters).double()


def weighted_moments(psi: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Psi^T R_j Psi (J, k, k) and Psi^T R_j y (J, k) with R_j = diag(weights_j).

    Of points (n, k), (n,) and J weightings (J, n), in chunks of points, so that no
    second n x k array is made.
    """
    second = psi.new_zeros(len(weights), psi.shape[-1], psi.shape[-1])
    for rows in _chunks(psi):
        for j, weighting in enumerate(weights):
            second[j] += (psi[rows] * weighting[rows, None]).mT @ psi[rows]
    return second, (weights * y) @ psi


class ClusterMoments:
    """Moments of every cluster of many mixtures on one data set, psi (n, k) and y (n,).

    Where it fits, the products psi_a psi_b of all points are stored once as an n x
    k(k+1)/2 matrix, so that the moments of every mixture and cluster are one matrix
    product.  The last cluster's are what the others leave of the sum: responsibilities
    add up to ``counts`` (n,).
    """

    def __init__(self, psi: Tensor, y: Tensor, counts: Tensor) -> None:
        n, k = psi.shape
        self.psi, self.y = psi, y
        second, cross = weighted_moments(psi, y, counts[None])
        self.total_second, self.total_cross = second[0], cross[0]
        self.products: Tensor | None = None
        if n * k * (k + 1) // 2 <= PRODUCTS_LIMIT:
            rows, columns = torch.triu_indices(k, k, device=psi.device)
            self.products = psi[:, rows] * psi[:, columns]
            self.psi_y = psi * y[:, None]
            position = torch.empty(k, k, dtype=torch.int64, device=psi.device)
            position[rows, columns] = torch.arange(len(rows), device=psi.device)
            position[columns, rows] = position[rows, columns]
            self.unpack = position.flatten()

    def of(self, r: Tensor) -> tuple[Tensor, Tensor]:
        """Moments (R, K, k, k) and (R, K, k) of responsibilities (R, K, n)."""
        weightings = r[:, :-1].flatten(0, 1)  # (R (K - 1), n)
        if self.products is not None:
            packed = weightings @ self.products
            second = packed.index_select(1, self.unpack).unflatten(
                1, self.total_second.shape
            )
            cross = weightings @ self.psi_y
        else:
            second, cross = weighted_moments(self.psi, self.y, weightings)
        second, cross = (
            m.unflatten(0, (len(r), r.shape[1] - 1)) for m in (second, cross)
        )
        rest_second = (self.total_second - second.sum(1)).unsqueeze(1)
        rest_cross = (self.total_cross - cross.sum(1)).unsqueeze(1)
        return torch.cat([second, rest_second], 1), torch.cat([cross, rest_cross], 1)


def _chunks(psi: Tensor) -> Iterator[slice]:
    """Slices of points whose rows of psi have at most ``CHUNK`` entries."""
    n = len(psi)
    step = max(1, CHUNK * n // max(1, psi.numel()))
    return (slice(first, first + step) for first in range(0, n, step))


def _squares(psi: Tensor, y: Tensor, theta: Tensor) -> Tensor:
    """(y_i - psi_i^T Theta_j)^2: (n, k), (n,), (..., K, k) to (..., K, n)."""
    return (theta @ psi.mT).sub_(y).square_()


def _log_joint(
    squares: Tensor, weights: Tensor, sigma: Tensor, cells: Tensor | None = None
) -> Tensor:
    """log q_j + log N(residual | 0, sigma_j^2), (..., K, n), in the place of squared
    residuals.

    Empty clusters (weight 0) have -inf and stay empty.
    """
    if cells is not None:
        level = (weights.log() - sigma.log().unsqueeze(-1) - 0.5 * LOG_2PI)[..., cells]
        return squares.mul_((-0.5 / sigma**2).unsqueeze(-1)).add_(level)
    level = weights.log() - sigma.log() - 0.5 * LOG_2PI
    return squares.mul_((-0.5 / sigma**2).unsqueeze(-1)).add_(level.unsqueeze(-1))


def _ridge_regressions(moments: tuple[Tensor, Tensor], penalty: Tensor) -> Tensor:
    """(Psi^T R_j Psi + penalty I)^-1 Psi^T R_j y: (R, K, k, k), (R, K, k), (R,) to (R,
    K, k)."""
    second, cross = moments
    second.diagonal(dim1=-2, dim2=-1).add_(penalty[:, None, None])
    return torch.cholesky_solve(
        cross.unsqueeze(-1), torch.linalg.cholesky(second)
    ).squeeze(-1)
