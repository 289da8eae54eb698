r"""Environment inference for invariant learning, EIIL (Creager, Jacobsen & Zemel, ICML
2021).

1. A reference network f is trained by ERM, with IRMv1's weight decay, and frozen.
2. Two soft environments, :math:`q_i = \sigma(w_i)` and :math:`1 - q_i`, are chosen to
   violate the invariance of f as much as possible (their equation (EI), with IRMv1's
   penalty):

   .. math::
        \max_w \; \frac{1}{2} \Big[ \Big( \frac{1}{n} \sum_i q_i g_i \Big)^2
        + \Big( \frac{1}{n} \sum_i (1 - q_i) g_i \Big)^2 \Big], \qquad
        g_i = \frac{\partial}{\partial s} \ell(s f(x_i), y_i) \Big|_{s = 1},

   by Adam from a standard normal w; sums are divided by n and not by the environment's
   own size, as in the authors' code.
3. The environments are split at q = 1/2, and IRMv1 trains on them from w_0.

The objective is convex in q, so its maximum lies at a corner: with G = sum_i g_i and
a = sum_i q_i g_i it is a^2 + (G - a)^2 up to a factor, which is largest where a is an
extreme.  One environment then holds the points with g_i > 0 and the other those with
g_i < 0; with the logistic loss, those that f gets wrong and right.
"""

from dataclasses import replace

import torch
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs, one_hot_environments
from kerhrm.methods.irm import scale_gradient, train_pooled
from kerhrm.methods.irm import train_irm as train_on_environments
from kerhrm.methods.options import EIILOptions
from kerhrm.networks.training import Adam
from kerhrm.randomness import stream


def train_eiil(inputs: Inputs, options: EIILOptions) -> Fitted:
    """Infer environments, then train on them by IRMv1.

    The reference has its loss and w_0.

    By the same reference and the same inference the validation points are split, too.
    """
    reference = train_pooled(inputs, options, options.reference_steps)

    def split(x: Tensor, y: Tensor, name: str) -> Tensor:
        with torch.no_grad():
            gradient = scale_gradient(reference(x), y, options.loss)
        steps, rate = options.inference_steps, options.inference_rate
        return infer_environments(gradient, inputs.seed, name, steps=steps, rate=rate)

    environments = split(inputs.x, inputs.y, "eiil")
    held_out = split(inputs.x_validation, inputs.y_validation, "eiil-validation")
    fitted = train_on_environments(replace(inputs, environments=environments), options)
    memberships = one_hot_environments(torch.cat([environments, held_out]), 2)
    return replace(fitted, environments=memberships)


@torch.inference_mode(False)  # gradients, also where the caller has none
def infer_environments(
    gradient: Tensor, seed: int, name: str = "eiil", *, steps: int, rate: float
) -> Tensor:
    """Split the points where the reference is least invariant.

    From g (n,) of :func:`kerhrm.methods.irm.scale_gradient` to labels (n,), int64, 0 or
    1, by ``steps`` of Adam at the learning rate ``rate``; ``name`` is the random
    start's.
    """
    start = torch.from_numpy(stream(seed, name).standard_normal(len(gradient)))
    w = start.to(gradient).requires_grad_(True)
    optimiser = Adam([w], rate)
    for _ in range(steps):
        optimiser.zero_grad()
        (-soft_penalty(w, gradient)).backward()
        optimiser.step()
    return (w.detach() <= 0).to(torch.int64)


def soft_penalty(w: Tensor, gradient: Tensor) -> Tensor:
    """Mean IRMv1 penalty of the two soft environments: (..., n), (..., n) to (...)."""
    q = torch.sigmoid(w)
    return ((q * gradient).mean(-1) ** 2 + ((1 - q) * gradient).mean(-1) ** 2) / 2
