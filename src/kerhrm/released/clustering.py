r"""M_c of the released variant: hard clusters, each with a linear model of its own.

Starting from an assignment, in turn

1. fit one linear model per cluster.  ``lasso``: from a fresh Xavier start by Adam on

   .. math:: \frac{1}{N_j} \sum_{i \in j} (y_i - \psi_i^\top w_j - b_j)^2
             + \frac{\lambda}{k} \sum_a |w_{ja}| ,

   ``ridge``: in closed form, the M step of :mod:`kerhrm.algorithm.mixture`;
2. move every point to the cluster with the smallest :math:`|y_i - \psi_i^\top w_j - b_j|`,

until at most ``stop_share`` n / K points move.  The loss depends on the points through the
moments :math:`S_j = Z_j^\top Z_j / N_j` and :math:`Z_j^\top y_j / N_j` of Z = [Psi, 1] alone, so
that a step of Adam costs O(K k^2) however many points there are.
"""

import logging
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.invariant import environment_risks
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.randomness import stream
from kerhrm.released.options import Released

log = logging.getLogger(__name__)

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's defaults


def assign(
    psi: Tensor, y: Tensor, start: Tensor, options: Released, seeds: Sequence[int], iteration: int
) -> Tensor:
    """Learn K clusters of every seed's points, from the memberships ``start`` (B, n, K).

    Parameters
    ----------
    psi : Tensor, (B, n, k)
        Variant features Psi_V.
    y : Tensor, (B, n)
        Labels less the offset f_0.
    iteration : int
        Names the random streams of the models' starts.

    Returns
    -------
    Tensor, (B, n, K)
        Memberships, rows sum to one; 0 or 1 where the assignment is hard.  Where it has not
        settled after ``max_reassignments``, the last one, and a warning in the log.
    """
    features = design(psi, options)
    if options.assignment == "soft":
        mixtures = fit_mixture(
            features,
            y,
            start.unsqueeze(1),
            ridge=options.cluster_ridge,
            max_iterations=options.max_reassignments,
        )
        _warn_of(~mixtures.converged[:, 0], options, seeds, iteration)
        return mixtures.responsibilities(features.unsqueeze(1), y.unsqueeze(1))[:, 0]
    limit = options.stop_share * y.shape[-1] / options.clusters
    members = start.clone()
    active = torch.arange(len(y), device=y.device)  # seeds that have settled leave the batch
    for n_reassignments in range(1, options.max_reassignments + 1):
        name = (f"t={iteration}", f"reassignment={n_reassignments}")
        centres = fit_centres(
            features[active], y[active], members[active], options,
            [seeds[b] for b in active.tolist()], name,
        )  # fmt: skip
        moved_to = nearest(features[active], y[active], centres)
        n_moved = (moved_to != members[active]).any(-1).sum(-1)
        members[active] = moved_to
        active = active[n_moved > limit]
        if len(active) == 0:
            log.info("t=%d: clusters settled in %d reassignments", iteration, n_reassignments)
            return members
    unsettled = torch.isin(torch.arange(len(y), device=y.device), active)
    _warn_of(unsettled, options, seeds, iteration)
    return members


def design(psi: Tensor, options: Released) -> Tensor:
    """What the clusters' models are linear in: Psi, or Psi and a constant column, last.

    The constant is 1 for ``lasso``.  A ridge bears on it, too: it then has the root mean
    square of Psi's entries, so that the intercept is held back no more than the rest, and the
    ridge's unit is that of Psi.  (..., n, k) to (..., n, k) or (..., n, k + 1).
    """
    if not options.intercept:
        return psi
    ones = torch.ones_like(psi[..., :1])
    if options.centres == "ridge":
        ones *= (psi**2).mean((-2, -1), keepdim=True).sqrt()
    return torch.cat([psi, ones], dim=-1)


def nearest(features: Tensor, y: Tensor, centres: Tensor) -> Tensor:
    """One-hot smallest |residual|, the first among equals: (B, n, p), (B, K, p) to (B, n, K)."""
    residuals = (y.unsqueeze(-1) - features @ centres.mT).abs()
    return torch.nn.functional.one_hot(residuals.argmin(-1), centres.shape[-2]).to(y)


def fit_centres(
    features: Tensor,
    y: Tensor,
    members: Tensor,
    options: Released,
    seeds: Sequence[int],
    name: tuple[str, ...],
) -> Tensor:
    """Coefficients (B, K, p) of the clusters' linear models.

    An empty cluster has no risk: ``ridge`` gives it zeros, ``lasso`` shrinks its random start,
    which the streams of ``seeds`` and ``name`` draw.

    Parameters
    ----------
    features : Tensor, (B, n, p)
        From :func:`design`.
    y, members : Tensor, (B, n), (B, n, K)
    """
    n, p = features.shape[-2:]
    second, cross = environment_risks(features, y, members)
    if options.centres == "ridge":
        # as in the M step of EM: the whole cluster's moments, divided by n
        mass = members.mean(-2)[..., None, None]
        rho = options.cluster_ridge * (features**2).sum((-2, -1)) / (n * p)
        eye = torch.eye(p, dtype=features.dtype, device=features.device)
        penalised = mass * second + rho[:, None, None, None] * eye
        return torch.linalg.solve(penalised, mass[..., 0] * cross)
    n_weights = p - 1 if options.intercept else p
    weights = xavier(seeds, (options.clusters, n_weights), 1.0, "centres", *name)
    start = features.new_zeros(cross.shape)  # the intercept's start
    start[..., :n_weights] = weights.to(features)
    l1 = features.new_zeros(p)
    l1[:n_weights] = options.cluster_l1 / n_weights

    def gradient(step: int, w: Tensor) -> Tensor:
        return lasso_gradient(w, second, cross, l1)

    return adam(start, gradient, steps=options.cluster_steps, rate=options.cluster_rate)


def lasso_gradient(w: Tensor, second: Tensor, cross: Tensor, l1: Tensor) -> Tensor:
    """Gradient of w^T S w - 2 x^T w + sum_a l1_a |w_a|; at w_a = 0 the subgradient 0.

    Shapes (..., p), (..., p, p), (..., p), (p,) to (..., p).
    """
    smooth = (second @ w.unsqueeze(-1)).squeeze(-1).sub_(cross).mul_(2)
    return smooth.addcmul_(w.sign(), l1)


def adam(
    start: Tensor, gradient: Callable[[int, Tensor], Tensor], *, steps: int, rate: float
) -> Tensor:
    """Adam (Kingma & Ba 2015, algorithm 1) on ``gradient(step, w)``, step = 1, ..., ``steps``.

    The same numbers as ``torch.optim.Adam``, whose bookkeeping would cost three times as much
    as the arithmetic of so few coordinates.
    """
    w = start.clone()
    first, second = torch.zeros_like(w), torch.zeros_like(w)
    for step in range(1, steps + 1):
        slope = gradient(step, w)
        first.lerp_(slope, 1 - BETA1)
        second.mul_(BETA2).addcmul_(slope, slope, value=1 - BETA2)
        length = second.sqrt().div_(math.sqrt(1 - BETA2**step)).add_(EPSILON)
        w.addcdiv_(first, length, value=-rate / (1 - BETA1**step))
    return w


def xavier(seeds: Sequence[int], shape: tuple[int, ...], gain: float, *name: str) -> Tensor:
    """Uniform start of models with k inputs and one output (Glorot & Bengio 2010).

    U(-a, a) with a = gain sqrt(6 / (k + 1)), k the last entry of ``shape``; (B, *shape), float64.
    """
    bound = gain * math.sqrt(6 / (shape[-1] + 1))
    draws = [stream(seed, "released", *name).uniform(-bound, bound, shape) for seed in seeds]
    return torch.from_numpy(np.stack(draws))


def _warn_of(unsettled: Tensor, options: Released, seeds: Sequence[int], iteration: int) -> None:
    late = [seeds[b] for b in unsettled.nonzero().squeeze(-1).tolist()]
    if late:
        log.warning(
            "t=%d: clusters of seeds %s not settled after %d reassignments",
            iteration, late, options.max_reassignments,
        )  # fmt: skip
