"""The gain of two environments over the best explanation without any.

A mixture of K = 2 regressions, fitted to residuals, gains likelihood from anything that one
regression with constant noise cannot say.  Of that, noise whose scale depends on x is no
environment, although two opposite regressions mimic it: the mixture

    p(e | psi) = sum_j q_j N(e | psi^T Theta_j, sigma^2)

has the variance sigma^2 + q_1 q_2 (psi^T (Theta_1 - Theta_2))^2, which grows along one direction.
The statistic is therefore the gain in mean log-likelihood over the better of two explanations:
one regression with constant noise, and the Gaussian with the mixture's own mean and variance at
every point.  What is left speaks of two lines in the residuals, and not of a cone.

EM begins at random, and where moments of the residuals point to: two lines along a direction v make
E[(e^2 - 1) psi psi^T] large along v, and, unless they share the points evenly, E[e^3 psi], too.
Each such v splits the points by the sign of e psi^T v.
"""

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.mixture import LOG_2PI, Mixture, fit_mixture, random_starts
from kerhrm.algorithm.options import Heterogeneity

DIRECTIONS = 2  #: of second moments that EM begins with


def gains(features: np.ndarray, residuals: np.ndarray, options: Heterogeneity, seed: int) -> Tensor:
    """Gain of the best usable start for each of B sets of residuals, nats per point: (B,).

    Features (n, k) have orthonormal columns up to a factor, residuals (B, n) are normal scores.  A
    start that leaves an environment empty is unusable; without a usable one the gain is 0, and
    below 0 it never is.  That the residual tells its environment is no reason to set a start
    aside, as it is where environments are learned: normal scores have nothing to gain by a split
    of their own, and with little noise the true environments look like one.
    """
    psi = torch.from_numpy(features).expand(len(residuals), -1, -1)
    e = torch.from_numpy(residuals)
    mixtures = fit_mixture(
        psi,
        e,
        torch.cat([directed_starts(psi[0], e), _random_starts(e, options.restarts, seed)], dim=1),
        ridge=options.ridge,
        max_iterations=options.max_iterations,
        tolerance=options.tolerance,
    )
    one = fit_mixture(psi, e, torch.ones_like(e)[:, None, :, None], ridge=options.ridge)
    points = psi.unsqueeze(1), e.unsqueeze(1)
    alone = torch.maximum(one.log_likelihood(*points), matched_likelihood(mixtures, *points))
    gain = mixtures.log_likelihood(*points) - alone
    usable = (mixtures.weights >= options.min_share).all(-1)
    return torch.where(usable, gain, 0.0).amax(-1).clamp_min(0)


def directed_starts(psi: Tensor, e: Tensor) -> Tensor:
    """Responsibilities (B, 3, n, 2) by moments of residuals e (B, n), psi (n, k)."""
    second = psi.mT @ ((e**2 - 1).unsqueeze(-1) * psi)
    largest = torch.linalg.eigh(second).eigenvectors[..., -DIRECTIONS:].mT
    third = ((e**3 - 3 * e) @ psi).unsqueeze(1)
    sides = torch.cat([largest, third], dim=1) @ psi.mT * e.unsqueeze(1) > 0
    return torch.stack([sides, ~sides], dim=-1).to(psi)


def _random_starts(e: Tensor, restarts: int, seed: int) -> Tensor:
    sets, n = e.shape
    starts = random_starts([seed], sets * restarts, n, 2, "heterogeneity")
    return starts[0].unflatten(0, (sets, restarts))


def matched_likelihood(mixtures: Mixture, psi: Tensor, y: Tensor) -> Tensor:
    """Mean log-likelihood of the Gaussian with each mixture's mean and variance at every point.

    Of points (..., n, k), (..., n), in nats; shape (...).
    """
    centres, weights = psi @ mixtures.theta.mT, mixtures.weights.unsqueeze(-2)
    mean = (weights * centres).sum(-1)
    spread = (weights * (centres - mean.unsqueeze(-1)) ** 2).sum(-1)
    variance = mixtures.sigma.unsqueeze(-1) ** 2 + spread
    return -0.5 * ((y - mean) ** 2 / variance + variance.log() + LOG_2PI).mean(-1)
