"""Step 3: invariant gradient descent (IGD), the network trained along theta_inv.

    w_inv = argmin_w  (1/n) |f_w(X) - y|^2
            + lambda (1 - cos(theta, g_w)),     g_w = S^-1 U^T (f_w(X) - f_0(X)),

g_w is the network's change, expressed in the reduced NTF space.  The paper prints |cos|,
which the opposite direction satisfies as well; the signed cosine is the default.  At
w = w_0 the cosine is 0/0: its denominator is |theta| (|g_w|^2 + (c |theta|)^2)^(1/2) with
c = 0.1, which leaves the optimum's direction alone and keeps the first gradients finite
(Adam remembers a huge one for a thousand steps).

A cosine near one is not enough: g_w counts all directions alike, but a change of the outputs
is S g_w, so that a small angle towards the largest singular value, where spurious features
may lie, is a large change.  What is left of it the squared error learns, the longer the
more, unless lambda is large (docs/scale.md).  With ``check_every`` the selection rule picks the
step as it picks lambda.
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
from kerhrm.networks.stopping import KeepBest
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
        Of all candidates, (B, number of lambdas, m), each at its best step where steps are chosen.
    chosen : Tensor, (B,), int64
        Index of the chosen lambda.
    networks : Network
        The chosen networks.
    """
    spectrum = within(problem.u, direction.k), problem.s
    given = [t.to(x) for t in (problem.y, problem.f0_train, *spectrum, direction.theta)]
    environments = yardstick(learned).to(torch.float64)

    def score(f: Tensor, rows: slice) -> Tensor:
        """Worst learned environment of outputs (b, C, m) on validation points: (b, C)."""
        points = point_scores(f, problem.y_validation[rows].unsqueeze(1), problem.task)
        return worst_environment_score(points, environments[rows])

    outputs, trained = [], []
    for penalty in options.penalty:
        log.info("training along theta_inv with lambda = %g", penalty)
        best = None
        if options.check_every:
            best = KeepBest(
                network,
                lambda n, rows: score(n(x_validation[rows]).unsqueeze(1), rows).squeeze(1),
                every=options.check_every,
                steps=options.steps,
                device=x.device,
            )
        last = train_igd(
            network,
            x,
            *given,
            penalty=penalty,
            cosine=options.cosine,
            steps=options.steps,
            learning_rate=options.learning_rate,
            best=best,
        )
        candidate = best.best if best else last
        if best:
            log.info("steps: %s", best.best_step.int().tolist())
        trained.append(candidate)
        outputs.append(Predictions(candidate(x), candidate(x_validation), candidate(x_test)))
    stacked = Predictions.stack(outputs)
    predictions = Predictions(*(getattr(stacked, n).transpose(0, 1) for n in stacked.names()))
    chosen = score(predictions.validation, slice(None)).argmax(-1)
    return predictions, chosen, pick(trained, chosen)


def within(u: Tensor, k: Tensor) -> Tensor:
    """U (B, n, k_max) with columns of zeros beyond each seed's own k (B,)."""
    column = torch.arange(u.shape[-1], device=u.device)
    return u * (column < k[:, None]).unsqueeze(-2)


def train_igd(
    network: N,
    x: Tensor,
    y: Tensor,
    f0: Tensor,
    u: Tensor,
    s: Tensor,
    theta: Tensor,
    *,
    penalty: float,
    cosine: Literal["signed", "absolute"],
    steps: int,
    learning_rate: float,
    best: KeepBest[N] | None = None,
) -> N:
    """Train B networks from w_0 along their invariant directions, with one lambda = ``penalty``.

    Of points x (B, n, d), y and f_0 (B, n), U (B, n, k) of :func:`within`, S (B, k) and theta
    (B, k); the rest as in :class:`kerhrm.algorithm.options.IGD`; ``best`` looks on.
    """

    def loss(f: Tensor, rows: slice) -> Tensor:
        g = ((f - f0[rows]).unsqueeze(-2) @ u[rows]).squeeze(-2) / s[rows]
        cos = cosine_to_direction(g, theta[rows])
        if cosine == "absolute":
            cos = cos.abs()
        return ((f - y[rows]) ** 2).mean(-1) + penalty * (1 - cos)

    return train(
        network,
        x,
        loss,
        steps=steps,
        learning_rate=learning_rate,
        after_step=best,
        keep=best.state if best else (),
    )


def cosine_to_direction(g: Tensor, theta: Tensor, smoothing: float = SMOOTHING) -> Tensor:
    """cos(theta, g), (B,), smoothed at g = 0.

    Of the network's change g_w = S^-1 U^T (f - f_0) (B, k) and theta (B, k), both zero beyond a
    seed's own k.
    """
    length2 = (theta**2).sum(-1)
    norm = (length2 * ((g**2).sum(-1) + smoothing**2 * length2)).sqrt()
    return (g * theta).sum(-1) / norm
