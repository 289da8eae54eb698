r"""Distributionally robust optimisation over a chi-square ball (Duchi & Namkoong 2021).

The worst mean loss over reweightings p of the n training points,

.. math::
    \sup_p \sum_i p_i \ell_i
    \quad\text{subject to}\quad
    \sum_i p_i = 1, \; p \ge 0, \; \frac{1}{2n} \sum_i (n p_i - 1)^2 \le \rho,

equals its dual (their Lemma 1 for the Cressie-Read parameter k = 2; the paper's section 5
names the method without the formula),

.. math::
    \inf_\eta \; \sqrt{1 + 2 \rho} \,
    \Big( \frac{1}{n} \sum_i (\ell_i - \eta)_+^2 \Big)^{1/2} + \eta,

and the best weights are :math:`p_i \propto (\ell_i - \eta)_+` at the best eta.  By the
envelope theorem the gradient is :math:`\sum_i p_i \nabla \ell_i`, so that eta is found
without a gradient and the weights are held fixed.  rho = 0 would be ERM.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.data.samples import Samples
from kerhrm.methods.dro.options import DRO
from kerhrm.networks.protocol import Network
from kerhrm.networks.stopping import Snapshots
from kerhrm.networks.training import train
from kerhrm.rows import of_rows

BISECTIONS = 40  # the bracket shrinks below float32's precision


def train_dro(
    samples: Samples, network: Network, options: DRO, stops: Sequence[int]
) -> list[Network]:
    """Train B networks on the worst reweighting of their points; the loss is (f - y)^2."""
    path = Snapshots(network, stops, device=samples.x.device)
    train(
        network,
        samples.x,
        lambda f, rows: worst_mean((f - samples.y[rows]) ** 2, of_rows(options.rho, rows)),
        steps=options.steps,
        learning_rate=options.learning_rate,
        after_step=path,
        keep=path.state,
    )
    return path.networks


def worst_mean(losses: Tensor, rho: float | Tensor) -> Tensor:
    """Largest mean over the chi-square ball, (..., n) to (...), differentiable; rho has no n."""
    return (worst_weights(losses, rho) * losses).sum(-1)


@torch.no_grad()
def worst_weights(losses: Tensor, rho: float | Tensor) -> Tensor:
    r"""Weights that attain it: losses (..., n) to p (..., n), which sums to 1.

    The dual is convex in eta; its derivative is negative where

    .. math::
        (1 + 2 \rho) \Big( \frac{1}{n} \sum_i (\ell_i - \eta)_+ \Big)^2
        > \frac{1}{n} \sum_i (\ell_i - \eta)_+^2 ,

    which holds below :math:`\bar\ell - \mathrm{sd}(\ell) / \sqrt{2 \rho}` (where no loss is
    cut off) and fails at the largest loss: the bracket of the bisection.
    """
    exact = losses.double()
    if isinstance(rho, Tensor):
        rho = rho.to(exact).unsqueeze(-1)
    high = exact.amax(-1, keepdim=True)
    reach = exact.std(-1, correction=0, keepdim=True) / (2 * rho) ** 0.5
    low = torch.minimum(exact.mean(-1, keepdim=True) - reach, exact.amin(-1, keepdim=True))
    low = low - 1e-9 * (1 + high - low)  # some weight remains where all losses are equal
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        excess = (exact - middle).clamp_min(0)
        mean, square = (e.mean(-1, keepdim=True) for e in (excess, excess**2))
        descends = (1 + 2 * rho) * mean**2 > square
        low, high = torch.where(descends, middle, low), torch.where(descends, high, middle)
    excess = (exact - low).clamp_min(0)
    return (excess / excess.sum(-1, keepdim=True)).to(losses)
