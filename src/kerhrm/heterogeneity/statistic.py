"""The gain of two environments over the best explanation without any.

A mixture of K = 2 regressions, fitted to residuals, gains likelihood from anything that one
regression with constant noise cannot say.  Of that, noise whose scale depends on x is no
environment, although two opposite regressions mimic it: the mixture

    p(e | psi) = sum_j q_j N(e | psi^T Theta_j, sigma^2)

has the variance sigma^2 + q_1 q_2 (psi^T (Theta_1 - Theta_2))^2, which grows along one direction.
The statistic is therefore the gain in mean log-likelihood over the better of two explanations:
one regression with constant noise, and the Gaussian with the mixture's own mean and variance at
every point.  What is left speaks of two lines in the residuals, and not of a cone.

EM starts at random, and where moments of the residuals point to: two lines along a direction v make
E[(e^2 - 1) psi psi^T] large along v, and, unless they share the points evenly, E[e^3 psi], too.
Each such v splits the points by the sign of e psi^T v.
"""

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.mixture import LOG_2PI, Mixture, fit_mixture, random_starts
from kerhrm.algorithm.options import HeterogeneityOptions

DIRECTIONS = 2  #: of second moments that EM starts with


def gains(
    features: np.ndarray, residuals: np.ndarray, options: HeterogeneityOptions, seed: int
) -> np.ndarray:
    """Gain of the best usable start for each of B sets of residuals, in nats per point: (B,).

    Features (n, k) have orthonormal columns up to a factor, residuals (B, n) are normal scores.  A
    start that leaves an environment empty is not usable; without a usable one, or below 0, the gain
    is 0.  That the residual alone tells its environment does not make a start degenerate, as it
    does where environments are learned: normal scores gain nothing by such a split, and with
    little noise the true environments look like one.
    """
    psi = torch.from_numpy(features)
    size = len(residuals) * options.n_init, len(psi), 2
    random = random_starts(seed, *size, "heterogeneity").split(options.n_init)
    return np.array(
        [
            _gain(psi, torch.from_numpy(e), r, options)
            for e, r in zip(residuals, random, strict=True)
        ]
    )


def _gain(psi: Tensor, e: Tensor, random: Tensor, options: HeterogeneityOptions) -> float:
    """Gain on one set of residuals (n,)."""
    mixtures = fit_mixture(
        psi,
        e,
        torch.cat([directed_starts(psi, e), random]),
        ridge=options.ridge,
        max_iter=options.em_max_iter,
        tol=options.em_tol,
    )
    one = fit_mixture(psi, e, torch.ones_like(psi[None, :, :1]), ridge=options.ridge)
    alone = torch.maximum(one.log_likelihood(psi, e), matched_likelihood(mixtures, psi, e))
    gain = mixtures.log_likelihood(psi, e) - alone
    usable = (mixtures.weights >= options.min_share).all(-1)
    return max(0.0, float(torch.where(usable, gain, 0.0).max()))


def directed_starts(psi: Tensor, e: Tensor) -> Tensor:
    """Responsibilities (3, n, 2) by moments of residuals e (n,), psi (n, k)."""
    second = psi.mT @ ((e**2 - 1)[:, None] * psi)
    largest = torch.linalg.eigh(second).eigenvectors[:, -DIRECTIONS:].mT
    third = ((e**3 - 3 * e) @ psi)[None]
    sides = torch.cat([largest, third]) @ psi.mT * e > 0
    return torch.stack([sides, ~sides], dim=-1).to(psi)


def matched_likelihood(mixtures: Mixture, psi: Tensor, y: Tensor) -> Tensor:
    """Mean log-likelihood of the Gaussian with each mixture's mean and variance at every point.

    Of points (n, k), (n,), in nats: (R,).
    """
    means, weights = psi @ mixtures.theta.mT, mixtures.weights.unsqueeze(-2)
    mean = (weights * means).sum(-1)
    spread = (weights * (means - mean.unsqueeze(-1)) ** 2).sum(-1)
    variance = (mixtures.weights * mixtures.sigma**2).sum(-1, keepdim=True) + spread
    return -0.5 * ((y - mean) ** 2 / variance + variance.log() + LOG_2PI).mean(-1)
