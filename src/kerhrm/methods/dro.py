r"""Distributionally robust optimisation over a chi-square ball (Duchi & Namkoong 2021).

The worst mean loss over reweightings p of the n training points,

.. math::
    \sup_p \sum_i p_i \ell_i
    \quad\text{subject to}\quad
    \sum_i p_i = 1, \; p \ge 0, \; \frac{1}{2n} \sum_i (n p_i - 1)^2 \le \rho,

equals its dual (their Lemma 1 for the Cressie-Read parameter k = 2; the paper's section
5 names the method without the formula),

.. math::
    \inf_\eta \; \sqrt{1 + 2 \rho} \,
    \Big( \frac{1}{n} \sum_i (\ell_i - \eta)_+^2 \Big)^{1/2} + \eta,

and the best weights are :math:`p_i \propto (\ell_i - \eta)_+` at the best eta.  By the
envelope theorem the gradient is :math:`\sum_i p_i \nabla \ell_i`, so that eta is found
without a gradient and the weights are held fixed.  rho = 0 would be ERM.
"""

import torch
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.options import DROOptions
from kerhrm.networks.base import Network

BISECTIONS = 40  # the bracket shrinks below float32's precision


def train_dro(inputs: Inputs, options: DROOptions) -> Fitted:
    """Train a network on the worst reweighting of its points; the loss is (f - y)^2."""

    def objective(f: Tensor, network: Network, step: int) -> Tensor:
        residuals = f - inputs.y
        losses = residuals**2
        return worst_mean(losses, options.rho)

    model = inputs.train_model(objective, options)
    return Fitted({"model": model})


def worst_mean(losses: Tensor, rho: float) -> Tensor:
    """Largest mean of losses (n,) over the chi-square ball; differentiable."""
    weights = worst_weights(losses, rho)
    weighted = weights * losses
    return weighted.sum()


@torch.no_grad()
def worst_weights(losses: Tensor, rho: float) -> Tensor:
    r"""Weights that attain it: losses (n,) to p (n,), which sums to 1.

    The dual is convex in eta; its derivative is negative where

    .. math::
        (1 + 2 \rho) \Big( \frac{1}{n} \sum_i (\ell_i - \eta)_+ \Big)^2
        > \frac{1}{n} \sum_i (\ell_i - \eta)_+^2 ,

    which holds below :math:`\bar\ell - \mathrm{sd}(\ell) / \sqrt{2 \rho}` (where no
    loss is cut off) and fails at the largest loss: the bracket of the bisection.
    """
    exact = losses.double()
    high = exact.max()
    deviation = exact.std(correction=0)
    shift = deviation / (2 * rho) ** 0.5
    uncut = exact.mean() - shift
    least = exact.min()
    low = torch.minimum(uncut, least)
    # some weight remains where all losses are equal
    width = 1 + high - low
    low = low - 1e-9 * width
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        excess = (exact - middle).clamp_min(0)
        mean_excess = excess.mean()
        squared_mean = (1 + 2 * rho) * mean_excess**2
        mean_square = (excess**2).mean()
        descends = squared_mean > mean_square
        low = torch.where(descends, middle, low)
        high = torch.where(descends, high, middle)
    excess = (exact - low).clamp_min(0)
    total = excess.sum()
    # of large losses that are equal nothing may be left
    equal = torch.full_like(exact, 1 / len(exact))
    weights = torch.where(total > 0, excess / total, equal)
    return weights.to(losses)
