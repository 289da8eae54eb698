"""M_c: heterogeneity exploration by a mixture of kernel ridge regressions.

Model (paper, section 3.3).  Point i belongs to environment j with probability
q_j, and inside environment j the label is Gaussian around a regression on the
variant features:  y_i ~ N(psi_V(x_i)^T Theta_j, sigma^2).  EM minimises the
penalised negative log-likelihood per point

    L_c = -(1/n) sum_i log sum_j q_j N(y_i | psi_i^T Theta_j, sigma^2)
          + (rho / 2 sigma^2) sum_j |Theta_j|^2,

rho = ``ridge`` times the mean eigenvalue of Psi_V^T Psi_V / n (so ``ridge`` has no
unit).  Every step is in closed form: the responsibilities r_ij, computed in log
space; Theta_j = (Psi^T R_j Psi + n rho I)^-1 Psi^T R_j y, which is kernel ridge
regression with kappa_c = Psi_V Psi_V^T written in its primal form; q_j = mean_i r_ij;
and sigma^2 = (1/n) sum_ij r_ij (y_i - psi_i^T Theta_j)^2 + rho sum_j |Theta_j|^2,
which minimises L_c jointly with Theta, so that L_c never rises.  The paper leaves
sigma open; ``sigma`` fixes it instead.

With a sigma_j of each cluster's own, rho |Theta_j|^2 is divided by 2 sigma_j^2, and sigma_j^2 is
(1/n) sum_i r_ij (y_i - psi_i^T Theta_j)^2 + rho |Theta_j|^2 over q_j.  If steps are hard, r_ij is 1
for the largest q_j N(...) and 0 otherwise, and L_c has max_j in place of sum_j; both fall
at every step as well.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.moments import ClusterMoments
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream
from kerhrm.storage.checkpoints import once
from kerhrm.storage.records import Record

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Mixture(Record):
    """Fitted mixtures; ``...`` are the leading axes (seeds, restarts).

    Attributes
    ----------
    theta : Tensor, (..., K, k), centres
    weights : Tensor, (..., K), q
    sigma : Tensor, (...), standard deviation of the residuals; (..., K) if each cluster has one
    objective : Tensor, (...), L_c at the last step, nats per point
    n_iterations : Tensor, (...), int64
    converged : Tensor, (...), bool; False where ``max_iterations`` was reached first
    """

    theta: Tensor
    weights: Tensor
    sigma: Tensor
    objective: Tensor
    n_iterations: Tensor
    converged: Tensor

    def responsibilities(self, psi: Tensor, y: Tensor) -> Tensor:
        """r_ij = P(environment j | psi_i, y_i) for points (..., n, k), (..., n): (..., n, K)."""
        return torch.softmax(self._log_joint(psi, y), dim=-2).mT.contiguous()

    def log_likelihood(self, psi: Tensor, y: Tensor) -> Tensor:
        """Mean log p(y_i | psi_i) over the points, nats; shape (...)."""
        return torch.logsumexp(self._log_joint(psi, y), dim=-2).mean(-1)

    def _log_joint(self, psi: Tensor, y: Tensor) -> Tensor:
        return _log_joint(_squares(psi, y, self.theta), self.weights, self.sigma)


def fit_mixture(
    psi: Tensor,
    y: Tensor,
    start: Tensor,
    *,
    ridge: float | Tensor,
    sigma: float | None = None,
    each: bool = False,
    hard: bool = False,
    max_iterations: int = 300,
    tolerance: float = 1e-5,
) -> Mixture:
    """Fit B x R mixtures of K regressions by EM.

    Parameters
    ----------
    psi : Tensor, (B, n, k)
        Variant features Psi_V, float64.
    y : Tensor, (B, n)
        What the centres regress: labels, or these less the offset f_0; float64.
    start : Tensor, (B, R, n, K)
        Responsibilities that each of the R restarts begins with.
    ridge : float or Tensor, (R,)
        Ridge of the centres, in units of the mean eigenvalue of Psi^T Psi / n; > 0.  One
        for all restarts, or each restart's own.
    sigma : float, optional
        Fixes sigma; by default it is re-estimated in each M step.
    each : bool
        Whether an estimated sigma is each cluster's own.
    hard : bool
        Whether E steps assign whole points.
    max_iterations, tolerance
        Stop when L_c falls by less than ``tolerance`` in one step.

    Returns
    -------
    Mixture
        Leading axes (B, R).

    Raises
    ------
    KerhrmError
        If K > n, the ridge or sigma is not positive (Psi_V is singular after projection,
        so a ridge is needed), or all features or all labels are zero.
    """
    n, n_clusters = start.shape[-2:]
    if sigma is not None and sigma <= 0:
        raise KerhrmError(f"sigma={sigma} must be positive", "leave it out to have it estimated")
    if bool((psi == 0).all(-1).all(-1).any()) or bool((y == 0).all(-1).any()):
        raise KerhrmError("a data set has only zeros as features or as labels", "use k > 1")
    if n_clusters > n:
        raise KerhrmError(f"K={n_clusters} clusters exceed n={n} training points", "lower K")
    ridges = torch.as_tensor(ridge, dtype=psi.dtype, device=psi.device).expand(start.shape[1])
    if not bool((ridges > 0).all()):
        raise KerhrmError(f"ridge={ridge} must be positive", "set it to 1e-2, say")
    fits = (
        functools.partial(_fit_one, *one, ridges, sigma, each, hard, max_iterations, tolerance)
        for one in zip(psi, y, start, strict=True)
    )
    return Mixture.stack(Mixture(**once("EM", fit, psi.device)) for fit in fits)


def orthogonal_update(psi: Tensor, theta: Tensor) -> Tensor:
    """Take a direction out of Psi (paper, equation "transform").

    ``Psi_V = Psi - (Psi theta) theta^T / |theta|^2``, always of Psi (..., n, k), never of the last
    Psi_V, so the result depends on the newest theta (..., k) alone.  Where theta is zero, Psi is
    returned unchanged.
    """
    length = theta.norm(dim=-1, keepdim=True)
    unit = torch.where(length > 0, theta / length, 0.0)
    return psi - (psi @ unit.unsqueeze(-1)) * unit.unsqueeze(-2)


def random_starts(
    seeds: Sequence[int], n_restarts: int, n: int, n_clusters: int, *name: str
) -> Tensor:
    """Random hard assignments, (B, R, n, K), float64, from the stream ``clustering``."""
    draws = [
        stream(seed, "clustering", *name).integers(n_clusters, size=(n_restarts, n))
        for seed in seeds
    ]
    return torch.nn.functional.one_hot(torch.from_numpy(np.stack(draws)), n_clusters).double()


def _squares(psi: Tensor, y: Tensor, theta: Tensor) -> Tensor:
    """(y_i - psi_i^T Theta_j)^2: (..., n, k), (..., n), (..., K, k) to (..., K, n)."""
    return (theta @ psi.mT).sub_(y.unsqueeze(-2)).square_()


def _log_joint(squares: Tensor, weights: Tensor, sigma: Tensor) -> Tensor:
    """log q_j + log N(residual | 0, sigma^2), (..., K, n), in the place of the squared residuals.

    Of weights (..., K), whose empty clusters have -inf and stay empty, and sigma (...) or (..., K).
    """
    scale = sigma if sigma.ndim == weights.ndim else sigma.unsqueeze(-1)
    level = weights.log() - scale.log() - 0.5 * LOG_2PI
    return squares.mul_((-0.5 / scale**2).unsqueeze(-1)).add_(level.unsqueeze(-1))


def _fit_one(
    psi: Tensor,
    y: Tensor,
    start: Tensor,
    ridge: Tensor,
    sigma: float | None,
    each: bool,
    hard: bool,
    max_iterations: int,
    tolerance: float,
) -> dict[str, Tensor]:
    """Fields of a Mixture: EM of R restarts on one data set; finished restarts leave the batch.

    Its arrays are (R, K, n): points come last, so that sums over the few clusters are sums of
    whole rows.
    """
    n, k = psi.shape
    rho = ridge * (psi**2).sum() / (n * k)  # (R,)
    moments = ClusterMoments(psi, y)
    sigma_floor = 1e-6 * float(y.std())
    done: dict[str, Tensor] = {}
    active = torch.arange(len(start), device=psi.device)
    r = start.mT.contiguous()
    previous = psi.new_full((len(start),), torch.inf)
    for iteration in range(1, max_iterations + 1):
        # M step
        theta = _ridge_regressions(moments.of(r), n * rho)
        squares = _squares(psi, y, theta)
        weights = r.mean(-1)
        penalty = rho[:, None] * (theta**2).sum(-1)  # (R, K)
        variance = torch.linalg.vecdot(r, squares) / n + penalty
        if each:
            scale = (variance / weights.clamp_min(1 / n**2)).sqrt().clamp_min(sigma_floor)
        else:
            penalty, variance = penalty.sum(-1), variance.sum(-1)
            scale = variance.sqrt().clamp_min(sigma_floor)
        if sigma is not None:
            scale = torch.full_like(scale, sigma)
        # E step, and L_c of the parameters just found
        log_joint = _log_joint(squares, weights, scale)
        if hard:
            log_likelihood, likeliest = log_joint.max(dim=-2, keepdim=True)
            r = torch.zeros_like(r).scatter_(-2, likeliest, 1.0)
        else:
            log_likelihood = log_joint.amax(-2, keepdim=True)
            r = log_joint.sub_(log_likelihood).exp_()
            total = r.sum(-2, keepdim=True)
            log_likelihood.add_(total.log())
            r /= total
        shrinkage = penalty / (2 * scale**2)
        objective = -log_likelihood.mean((-2, -1)) + (shrinkage.sum(-1) if each else shrinkage)

        converged = previous - objective < tolerance
        finished = converged | (iteration == max_iterations)
        if bool(finished.any()):
            found = {"theta": theta, "weights": weights, "sigma": scale, "objective": objective}
            found |= {"n_iterations": torch.full_like(active, iteration), "converged": converged}
            done = done or {
                name: values.new_zeros(len(start), *values.shape[1:])
                for name, values in found.items()
            }
            gone, kept = finished.nonzero().squeeze(1), (~finished).nonzero().squeeze(1)
            for name, values in found.items():
                done[name].index_copy_(0, active[gone], values[gone])
            active, r, objective, rho = (t[kept] for t in (active, r, objective, rho))
            if len(active) == 0:
                break
        previous = objective
    return done


def _ridge_regressions(moments: tuple[Tensor, Tensor], penalty: Tensor) -> Tensor:
    """(Psi^T R_j Psi + penalty I)^-1 Psi^T R_j y: (R, K, k, k), (R, K, k), (R,) to (R, K, k)."""
    second, cross = moments
    second.diagonal(dim1=-2, dim2=-1).add_(penalty[:, None, None])
    return torch.cholesky_solve(cross.unsqueeze(-1), torch.linalg.cholesky(second)).squeeze(-1)
