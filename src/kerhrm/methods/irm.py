r"""Invariant risk minimisation with environment labels: IRMv1 (Arjovsky et al. 2019).

.. math::
    \min_w \; \frac{1}{|E|} \sum_e \Big[ L^e(f_w)
    + \lambda \Big( \frac{\partial}{\partial s} L^e(s f_w) \Big|_{s = 1} \Big)^2 \Big],

their equation (IRMv1) for an output in R, with L^e the mean loss of environment e.  As in
the authors' code, lambda is 1 before the anneal step, and a lambda above 1 divides the
whole objective, which keeps gradients in one range.  Hyper-parameters by the KerHRM paper's
rule (section 5.1): the best minimum over the validation environments.
"""

import logging
from collections.abc import Sequence
from itertools import product
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from kerhrm.algorithm.selection import Task
from kerhrm.errors import KerhrmError
from kerhrm.features.mlp import MLP
from kerhrm.methods.choices import best_worst_environment
from kerhrm.methods.training import minimise

log = logging.getLogger(__name__)

PointLoss = Literal["squared", "logistic"]


def train_irm(
    mlp: MLP,
    x: Tensor,
    y: Tensor,
    x_validation: Tensor,
    y_validation: Tensor,
    environment: Tensor,
    environment_validation: Tensor,
    *,
    task: Task,
    loss: PointLoss,
    weight: Sequence[float],
    anneal: Sequence[int],
    steps: int,
    learning_rate: float,
) -> tuple[list[MLP], Tensor]:
    """Train B networks with every (lambda, anneal); the worst labelled environment decides.

    Parameters
    ----------
    mlp : MLP
        w_0.
    x, y : Tensor, (B, n, d), (B, n)
    x_validation, y_validation : Tensor, (B, m, d), (B, m)
    environment, environment_validation : Tensor, (B, n), (B, m), integer
        Labels 0, 1, ...
    task : "classification" (labels -1, +1) or "regression"
    loss : "squared" or "logistic"
        In regression "squared" alone.
    weight, anneal
        lambda and the number of steps before it applies; the candidates are all pairs,
        anneal varying fastest.
    steps, learning_rate
        Of Adam, full batch.

    Returns
    -------
    candidates : list of MLP
        One batch of networks per pair.
    chosen : Tensor, (B,), int64

    Raises
    ------
    KerhrmError
        If a regression is to have the logistic loss.
    """
    check_loss(loss, task)
    candidates = train_pairs(
        mlp, x, y, environment,
        loss=loss, weight=weight, anneal=anneal, steps=steps, learning_rate=learning_rate,
    )  # fmt: skip
    return candidates, best_worst_environment(
        candidates, x_validation, y_validation, environment_validation, task
    )


def train_pairs(
    mlp: MLP,
    x: Tensor,
    y: Tensor,
    environment: Tensor,
    *,
    loss: PointLoss,
    weight: Sequence[float],
    anneal: Sequence[int],
    steps: int,
    learning_rate: float,
) -> list[MLP]:
    """Train by IRMv1 with every pair (lambda, anneal); parameters as in :func:`train_irm`."""
    means = environment_means(environment).to(x)
    candidates = []
    for lam, start in product(weight, anneal):
        log.info("IRMv1 with lambda = %g after %d steps", lam, start)

        def objective(
            step: int, networks: MLP, rows: slice, lam: float = lam, start: int = start
        ) -> Tensor:
            f = networks(x[rows])
            now = lam if step > start else min(lam, 1.0)
            total = mean_risk(f, y[rows], means[rows], loss)
            total = total + now * irm_penalty(f, y[rows], means[rows], loss)
            return total / max(now, 1.0)

        candidates.append(
            minimise(mlp, objective, device=x.device, steps=steps, learning_rate=learning_rate)
        )
    return candidates


def mean_risk(f: Tensor, y: Tensor, means: Tensor, loss: PointLoss) -> Tensor:
    """Mean over environments of L^e: outputs and labels (B, n), ``means`` (B, E, n), to (B,)."""
    return over_environments(within_environments(point_loss(f, y, loss), means), means)


def irm_penalty(f: Tensor, y: Tensor, means: Tensor, loss: PointLoss) -> Tensor:
    """Mean over environments of the squared scale-gradient: shapes as in :func:`mean_risk`."""
    gradient = within_environments(scale_gradient(f, y, loss), means)
    return over_environments(gradient**2, means)


def point_loss(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Loss of every point: (f - y)^2, or log(1 + exp(-y f)) for labels -1 and +1."""
    return (f - y) ** 2 if loss == "squared" else softplus(-y * f)


def scale_gradient(f: Tensor, y: Tensor, loss: PointLoss) -> Tensor:
    """Derivative of every point's loss of s f with respect to s, at s = 1.

    2 f (f - y), or -y f / (1 + exp(y f)).
    """
    return 2 * f * (f - y) if loss == "squared" else -y * f * torch.sigmoid(-y * f)


def environment_means(environment: Tensor) -> Tensor:
    """Rows that average over an environment: labels (B, n) to (B, E, n), float64.

    The row of an environment without points is zero.
    """
    labels = torch.arange(int(environment.max()) + 1, device=environment.device)
    member = (environment.unsqueeze(-2) == labels[:, None]).double()
    return member / member.sum(-1, keepdim=True).clamp_min(1)


def within_environments(values: Tensor, means: Tensor) -> Tensor:
    """Means over the points of each environment: (B, n), (B, E, n) to (B, E)."""
    return (means @ values.unsqueeze(-1)).squeeze(-1)


def over_environments(values: Tensor, means: Tensor) -> Tensor:
    """Mean over the environments that have points: (B, E), (B, E, n) to (B,)."""
    return values.sum(-1) / means.any(-1).sum(-1)


def check_loss(loss: PointLoss, task: Task) -> None:
    """Refuse the logistic loss for targets that are no labels."""
    if task == "regression" and loss == "logistic":
        raise KerhrmError("the logistic loss needs labels -1 and +1", 'use loss: "squared"')
