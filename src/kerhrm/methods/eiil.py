r"""Environment inference for invariant learning, EIIL (Creager, Jacobsen & Zemel, ICML 2021).

1. A reference network f is trained by ERM and frozen.
2. Two soft environments, :math:`q_i = \sigma(w_i)` and :math:`1 - q_i`, are chosen to violate
   the invariance of f as much as possible (their equation (EI), with IRMv1's penalty):

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

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.selection import Task
from kerhrm.features.mlp import MLP
from kerhrm.methods.choices import best_pooled
from kerhrm.methods.irm import PointLoss, check_loss, point_loss, scale_gradient, train_pairs
from kerhrm.methods.training import train
from kerhrm.randomness import stream


def train_eiil(
    mlp: MLP,
    x: Tensor,
    y: Tensor,
    x_validation: Tensor,
    y_validation: Tensor,
    *,
    seeds: Sequence[int],
    task: Task,
    loss: PointLoss,
    reference_steps: int,
    inference_steps: int,
    inference_rate: float,
    weight: Sequence[float],
    anneal: Sequence[int],
    steps: int,
    learning_rate: float,
) -> tuple[list[MLP], Tensor]:
    """Infer environments, then IRMv1 with every (lambda, anneal); pooled validation decides.

    Parameters
    ----------
    mlp : MLP
        w_0 of the reference and of the invariant networks.
    x, y : Tensor, (B, n, d), (B, n)
    x_validation, y_validation : Tensor, (B, m, d), (B, m)
    seeds : sequence of int, length B
        Of the random assignments that the inference starts from.
    task, loss
        As in :func:`kerhrm.methods.irm.train_irm`; the reference has the same loss.
    reference_steps : int
        Steps of the reference network.
    inference_steps, inference_rate
        As in :func:`infer_environments`.
    weight, anneal, steps, learning_rate
        As in :func:`kerhrm.methods.irm.train_irm`.

    Returns
    -------
    candidates : list of MLP
        One batch of networks per pair (lambda, anneal).
    chosen : Tensor, (B,), int64

    Raises
    ------
    KerhrmError
        If a regression is to have the logistic loss.
    """
    check_loss(loss, task)
    reference = train(
        mlp,
        x,
        lambda f, rows: point_loss(f, y[rows], loss).mean(-1),
        steps=reference_steps,
        learning_rate=learning_rate,
    )
    environment = infer_environments(
        scale_gradient(reference(x), y, loss), seeds, steps=inference_steps, rate=inference_rate
    )
    candidates = train_pairs(
        mlp, x, y, environment,
        loss=loss, weight=weight, anneal=anneal, steps=steps, learning_rate=learning_rate,
    )  # fmt: skip
    return candidates, best_pooled(candidates, x_validation, y_validation, task)


def infer_environments(
    gradient: Tensor, seeds: Sequence[int], *, steps: int, rate: float
) -> Tensor:
    """Split the points where the reference is least invariant.

    Parameters
    ----------
    gradient : Tensor, (B, n)
        g, from :func:`kerhrm.methods.irm.scale_gradient`.
    seeds : sequence of int, length B
    steps : int
    rate : float
        Learning rate of Adam.

    Returns
    -------
    Tensor, (B, n), int64
        0 or 1.
    """
    n = gradient.shape[-1]
    start = np.stack([stream(seed, "eiil").standard_normal(n) for seed in seeds])
    w = torch.from_numpy(start).to(gradient).requires_grad_(True)
    optimiser = torch.optim.Adam([w], lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        (-soft_penalty(w, gradient).sum()).backward()
        optimiser.step()
    return (w.detach() <= 0).to(torch.int64)


def soft_penalty(w: Tensor, gradient: Tensor) -> Tensor:
    """Mean IRMv1 penalty of the two soft environments: (B, n), (B, n) to (B,)."""
    q = torch.sigmoid(w)
    return ((q * gradient).mean(-1) ** 2 + ((1 - q) * gradient).mean(-1) ** 2) / 2
