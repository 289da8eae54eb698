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

Inference names the two at random, of the training and of the validation points each.
In what is shown 1 is the one with the larger sum of g_i, in both parts.

The objective is convex in q, so its maximum lies at a corner: with G = sum_i g_i and
a = sum_i q_i g_i it is a^2 + (G - a)^2 up to a factor, which is largest where a is an
extreme.  One environment then holds the points with g_i > 0 and the other those with
g_i < 0; with the logistic loss, those that f gets wrong and right.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs, one_hot_environments
from kerhrm.methods.irm import scale_gradient, train_pooled
from kerhrm.methods.irm import train_irm as train_on_environments
from kerhrm.methods.options import EIILOptions, PointLoss
from kerhrm.networks.base import Network
from kerhrm.networks.training import Adam
from kerhrm.progress import progress
from kerhrm.randomness import stream


def train_eiil(inputs: Inputs, options: EIILOptions) -> Fitted:
    """Infer environments, then train on them by IRMv1.

    The reference has its loss and w_0.

    By the same reference and the same inference the validation points are split, too.
    """
    reference = train_pooled(inputs, options, options.reference_steps)
    train, shown = split_by_reference(
        reference,
        inputs.x,
        inputs.y,
        options.loss,
        seed=inputs.seed,
        name="eiil",
        options=options,
    )
    held_out, held_out_shown = split_by_reference(
        reference,
        inputs.x_validation,
        inputs.y_validation,
        options.loss,
        seed=inputs.seed,
        name="eiil-validation",
        options=options,
    )
    # by other numbers the same training would round otherwise
    inputs = replace(inputs, environments=train, environments_validation=held_out)
    fitted = train_on_environments(inputs, options)
    both = torch.cat([shown, held_out_shown])
    memberships = one_hot_environments(both, 2)
    return replace(fitted, environments=memberships)


def split_by_reference(
    reference: Network,
    x: Tensor,
    y: Tensor,
    loss: PointLoss,
    *,
    seed: int,
    name: str,
    options: Any,
) -> tuple[Tensor, Tensor]:
    """Split points where a reference is least invariant.

    Parameters
    ----------
    reference : Network
        Whose outputs are scaled.
    x, y : Tensor, (n, d), (n,)
        Points.
    loss : "squared" or "logistic"
        Of a point.
    seed : int
        Of the random start.
    name : str
        Of its stream.
    options : Options
        With ``inference_steps`` and ``inference_rate``.

    Returns
    -------
    Tensor, (n,), int64
        Environments 0 and 1 as they are inferred.
    Tensor, (n,), int64
        The same as they are shown, see :func:`by_gradient`.
    """
    with torch.no_grad():
        outputs = reference(x)
        gradient = scale_gradient(outputs, y, loss)
    inferred = infer_environments(
        gradient,
        seed,
        name,
        steps=options.inference_steps,
        rate=options.inference_rate,
    )
    return inferred, by_gradient(inferred, gradient)


def by_gradient(environments: Tensor, gradient: Tensor) -> Tensor:
    """Environments 0 and 1 (n,), 1 being the one with the larger sum of gradients (n,).

    Inference names them at random; so named they are, by the logistic loss, the hits
    and the errors of what the gradients are of.
    """
    numbers = 2 * environments - 1
    signs = numbers.to(gradient)
    total = gradient @ signs
    return environments if total >= 0 else 1 - environments


@torch.inference_mode(False)  # gradients, also where the caller has none
def infer_environments(
    gradient: Tensor, seed: int, name: str = "eiil", *, steps: int, rate: float
) -> Tensor:
    """Split the points where the reference is least invariant.

    Parameters
    ----------
    gradient : Tensor, (n,)
        g, by :func:`kerhrm.methods.irm.scale_gradient`.
    seed : int
        Of the random start.
    name : str
        Of its stream.
    steps : int
        Of Adam.
    rate : float
        Its learning rate.

    Returns
    -------
    Tensor, (n,), int64
        Environments 0 and 1.
    """
    random = stream(seed, name)
    n_points = len(gradient)
    draw = random.standard_normal(n_points)
    start = torch.from_numpy(draw).to(gradient)
    w = start.requires_grad_(True)
    optimiser = Adam([w], rate)
    for _ in progress(range(steps), "steps of the environments"):
        optimiser.zero_grad()
        loss = -soft_penalty(w, gradient)
        loss.backward()
        optimiser.step()
    second = w.detach() <= 0
    return second.to(torch.int64)


def soft_penalty(w: Tensor, gradient: Tensor) -> Tensor:
    """Mean IRMv1 penalty of the two soft environments: (..., n), (..., n) to (...)."""
    q = torch.sigmoid(w)
    weighted = q * gradient
    first = weighted.mean(-1)
    weighted_rest = (1 - q) * gradient
    second = weighted_rest.mean(-1)
    squares = first**2 + second**2
    return squares / 2
