r"""Inter-gradient alignment with environment labels, IGA (Koyama & Yamaguchi 2020).

.. math::
    \min_w \; \frac{1}{|E|} \sum_e L^e(w)
    + \lambda \sum_e \Big| \nabla_w L^e(w) - \frac{1}{|E|} \sum_{e'} \nabla_w L^{e'}(w) \Big|^2 ,

their trace of the gradients' variance over all network parameters, summed over environments
as in DomainBed.  It is invariant under a rotation of the environments, so with orthonormal
contrasts C, (|E| - 1) x |E| and orthogonal to the constant, it is

.. math:: \sum_j \Big| \nabla_w \sum_e C_{je} L^e(w) \Big|^2 :

one differentiated backward pass fewer than there are environments.  Hyper-parameters as
for IRM: the best minimum over the validation environments.
"""

import logging
from collections.abc import Sequence

import torch
from scipy.linalg import helmert
from torch import Tensor

from kerhrm.algorithm.selection import Task
from kerhrm.features.mlp import MLP
from kerhrm.methods.choices import best_worst_environment
from kerhrm.methods.irm import (
    PointLoss,
    check_loss,
    environment_means,
    point_loss,
    within_environments,
)
from kerhrm.methods.training import minimise

log = logging.getLogger(__name__)


def train_iga(
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
    penalty: Sequence[float],
    steps: int,
    learning_rate: float,
) -> tuple[list[MLP], Tensor]:
    """Train B networks with every lambda; the worst labelled environment decides.

    Parameters
    ----------
    mlp : MLP
        w_0.
    x, y : Tensor, (B, n, d), (B, n)
    x_validation, y_validation : Tensor, (B, m, d), (B, m)
    environment, environment_validation : Tensor, (B, n), (B, m), integer
        Labels 0, 1, ...; every environment has points in every seed.
    task, loss
        As in :func:`kerhrm.methods.irm.train_irm`.
    penalty : sequence of float
        lambda, the candidates.
    steps, learning_rate
        Of Adam, full batch.

    Returns
    -------
    candidates : list of MLP
        One batch of networks per lambda.
    chosen : Tensor, (B,), int64

    Raises
    ------
    KerhrmError
        If a regression is to have the logistic loss.
    """
    check_loss(loss, task)
    means = environment_means(environment).to(x)
    candidates = []
    for lam in penalty:
        log.info("inter-gradient alignment with lambda = %g", lam)

        def objective(step: int, networks: MLP, rows: slice, lam: float = lam) -> Tensor:
            losses = point_loss(networks(x[rows]), y[rows], loss)
            risks = within_environments(losses, means[rows])
            return risks.mean(-1) + lam * gradient_variance(risks, networks)

        candidates.append(
            minimise(mlp, objective, device=x.device, steps=steps, learning_rate=learning_rate)
        )
    return candidates, best_worst_environment(
        candidates, x_validation, y_validation, environment_validation, task
    )


def gradient_variance(risks: Tensor, networks: MLP) -> Tensor:
    """Sum over environments of |grad L^e - mean grad|^2, differentiable.

    Parameters
    ----------
    risks : Tensor, (B, E)
        L^e, computed from the networks' parameters.
    networks : MLP
        Trainable.

    Returns
    -------
    Tensor, (B,)
    """
    total = torch.zeros_like(risks[:, 0])
    if risks.shape[1] == 1:
        return total
    contrasts = torch.from_numpy(helmert(risks.shape[1])).to(risks)
    for contrast in (risks @ contrasts.T).unbind(-1):
        gradients = torch.autograd.grad(contrast.sum(), networks.parameters(), create_graph=True)
        total = total + sum((g**2).flatten(1).sum(-1) for g in gradients)
    return total
