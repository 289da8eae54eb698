"""Step 3: invariant gradient descent (IGD), the network trained along theta_inv.

    w_inv = argmin_w  (1/n) |f_w(X) - y|^2
            + lambda (1 - cos(theta, g_w)),     g_w = S^-1 U^T (f_w(X) - f_0(X)),

g_w is the network's change, expressed in the reduced NTF space.  The paper prints |cos|,
which the opposite direction satisfies as well; the signed cosine is the default.  At
w = w_0 the cosine is 0/0: its denominator is |theta| (|g_w|^2 + (c |theta|)^2)^(1/2) with
c = 0.1, which leaves the optimum's direction alone and keeps the first gradients finite
(Adam remembers a huge one for a thousand steps).
"""

import logging
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from kerhrm.algorithm.directions import yardstick
from kerhrm.algorithm.options import IGD
from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.algorithm.selection import point_scores, worst_environment_score
from kerhrm.data.predictions import Predictions
from kerhrm.networks.protocol import N, pick
from kerhrm.networks.training import train

SMOOTHING = 0.1  # c

log = logging.getLogger(__name__)


def train_networks(
    network: N,
    problem: Problem,
    x: Tensor,
    x_validation: Tensor,
    x_test: Tensor,
    direction: FinalDirection,
    learned: Sequence[Environments],
    options: IGD,
) -> tuple[Predictions, Tensor, N]:
    """Train along theta_inv with every lambda; the worst learned environment decides.

    Parameters
    ----------
    network : Network
        w_0, from which the problem's features were extracted.
    x, x_validation, x_test : Tensor, (B, m, d), float32
    direction, learned
        What the iterations left.

    Returns
    -------
    predictions : Predictions
        Of all candidates, (B, number of lambdas, m).
    chosen : Tensor, (B,), int64
        Index of the chosen lambda.
    networks : Network
        The chosen networks.
    """
    to_reduced = reduced_coordinates(problem.u, problem.s, direction.k)
    given = [t.to(x) for t in (problem.y, problem.f0_train, to_reduced, direction.theta)]
    outputs, trained = [], []
    for penalty in options.penalty:
        log.info("training along theta_inv with lambda = %g", penalty)
        candidate = train_igd(
            network,
            x,
            *given,
            penalty=penalty,
            cosine=options.cosine,
            steps=options.steps,
            learning_rate=options.learning_rate,
        )
        trained.append(candidate)
        outputs.append(Predictions(candidate(x), candidate(x_validation), candidate(x_test)))
    stacked = Predictions.stack(outputs)
    predictions = Predictions(*(getattr(stacked, n).transpose(0, 1) for n in stacked.names()))
    scores = point_scores(predictions.validation, problem.y_validation.unsqueeze(1), problem.task)
    chosen = worst_environment_score(scores, yardstick(learned).to(scores)).argmax(-1)
    return predictions, chosen, pick(trained, chosen)


def reduced_coordinates(u: Tensor, s: Tensor, k: Tensor) -> Tensor:
    """U S^-1 with columns of zeros beyond each seed's k: (B, n, k_max), (B, k_max), (B,)."""
    column = torch.arange(s.shape[-1], device=s.device)
    return u / s.unsqueeze(-2) * (column < k[:, None]).unsqueeze(-2)


def train_igd(
    network: N,
    x: Tensor,
    y: Tensor,
    f0: Tensor,
    to_reduced: Tensor,
    theta: Tensor,
    *,
    penalty: float,
    cosine: Literal["signed", "absolute"],
    steps: int,
    learning_rate: float,
) -> N:
    """Train B networks from w_0 along their invariant directions, with one lambda = ``penalty``.

    Of points x (B, n, d) and y (B, n); the rest as in :func:`cosine_to_direction` and
    :class:`kerhrm.algorithm.options.IGD`.
    """

    def loss(f: Tensor, rows: slice) -> Tensor:
        cos = cosine_to_direction(f, f0[rows], to_reduced[rows], theta[rows])
        if cosine == "absolute":
            cos = cos.abs()
        return ((f - y[rows]) ** 2).mean(-1) + penalty * (1 - cos)

    return train(network, x, loss, steps=steps, learning_rate=learning_rate)


def cosine_to_direction(
    f: Tensor, f0: Tensor, to_reduced: Tensor, theta: Tensor, smoothing: float = SMOOTHING
) -> Tensor:
    """cos(theta, S^-1 U^T (f - f_0)), (B,), smoothed at f = f_0.

    Of outputs f, f_0 (B, n), U S^-1 (B, n, k), whose columns beyond a seed's own k are zero, and
    theta (B, k).
    """
    g = ((f - f0).unsqueeze(-2) @ to_reduced).squeeze(-2)
    length2 = (theta**2).sum(-1)
    norm = (length2 * ((g**2).sum(-1) + smoothing**2 * length2)).sqrt()
    return (g * theta).sum(-1) / norm
