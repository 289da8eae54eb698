"""Step 3: invariant gradient descent (IGD), the network trained along theta_inv.

    w_inv = argmin_w  (1/n) |f_w(X) - y|^2
            + lambda (1 - cos(theta, g_w)),     g_w = S^-1 U^T (f_w(X) - f_0(X)),

g_w is the network's change, expressed in the reduced NTF space.  The paper prints |cos|,
which the opposite direction satisfies as well; the signed cosine is the default.  At
w = w_0 the cosine is 0/0: its denominator is |theta| (|g_w|^2 + (c |theta|)^2)^(1/2) with
c = 0.1 at the first step and half as much at each further one, so that the first gradients are
finite (Adam remembers a huge one for a thousand steps) and the optimum is the printed one.
``cosine: smoothed`` keeps c: it then draws g_w along theta, too, to a length at which what the
squared error learns elsewhere matters less.
Training ends where the objective has stopped falling
(:class:`kerhrm.networks.stopping.Convergence`), and the selection rule, which looks on, picks the
step as it picks lambda: what is best for the worst learned environment, on validation points.

A cosine near one is not enough: g_w counts all directions alike, but a change of the outputs
is S g_w, so that a small angle towards the largest singular value, where spurious features
may lie, is a large change.  What is left of it the squared error learns, the longer the
more, unless lambda is large (docs/scale.md).
"""

import functools
import logging
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from kerhrm.algorithm.directions import yardstick
from kerhrm.algorithm.options import IGD, SelectionRule
from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.algorithm.selection import point_scores, pooled_score, worst_environment_score
from kerhrm.data.dataset import Task
from kerhrm.data.predictions import Predictions
from kerhrm.networks.protocol import N, pick
from kerhrm.networks.stopping import Convergence, KeepBest
from kerhrm.networks.training import minimise, networks_at_once
from kerhrm.rows import copies

SMOOTHING = 0.1  # c of the first step

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
    rule: SelectionRule = "worst_learned",
) -> tuple[Predictions, Tensor, N]:
    """Train along theta_inv with every lambda; the selection rule decides, on validation points.

    Where the direction comes of no iteration, for there are no environments
    (:func:`~kerhrm.heterogeneity.guard.pooled_direction`), this is ERM: no penalty, and the pooled
    rule.

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
    given = [t.to(x) for t in (x, problem.y, problem.f0_train, *spectrum, direction.theta)]
    environments = yardstick(learned).to(torch.float64)
    along = direction.iteration > 0
    environments = torch.where(along[:, None, None], environments, 1.0)
    held_out = x_validation, problem.y_validation, environments

    judge = functools.partial(_score, rule, problem.task)
    at_once = networks_at_once(x.device, len(options.penalty))
    trained: list[N] = []
    for first in range(0, len(options.penalty), at_once):
        penalties = options.penalty[first : first + at_once]
        trained += _train_with(penalties, network, given, held_out, along, judge, options)
    stacked = Predictions.stack(Predictions(f(x), f(x_validation), f(x_test)) for f in trained)
    predictions = Predictions(*(getattr(stacked, n).transpose(0, 1) for n in stacked.names()))
    chosen = judge(predictions.validation, *held_out[1:]).argmax(-1)
    return predictions, chosen, pick(trained, chosen)


def _score(
    rule: SelectionRule, task: Task, f: Tensor, y: Tensor, responsibilities: Tensor
) -> Tensor:
    """Of outputs (b, C, m) on validation points: (b, C)."""
    points = point_scores(f, y.unsqueeze(1), task)
    if rule == "pooled":
        return pooled_score(points)
    return worst_environment_score(points, responsibilities)


def _train_with(
    penalties: Sequence[float],
    network: N,
    given: Sequence[Tensor],
    held_out: Sequence[Tensor],
    along: Tensor,
    judge: Callable[[Tensor, Tensor, Tensor], Tensor],
    options: IGD,
) -> list[N]:
    """The networks of several lambdas, as one batch."""
    log.info("training along theta_inv with lambda = %s", ", ".join(f"{p:g}" for p in penalties))
    x, times = given[0], len(penalties)
    best = None
    if options.check_every:
        points, y, responsibilities = (copies(t, times) for t in held_out)
        best = KeepBest(
            network.copies(times),
            lambda n, rows: judge(
                n(points[rows]).unsqueeze(1), y[rows], responsibilities[rows]
            ).squeeze(1),
            every=options.check_every,
            steps=options.steps,
            device=x.device,
        )
    weights = torch.tensor(penalties).to(x).repeat_interleave(len(x))
    last = train_igd(
        network.copies(times),
        *(copies(t, times) for t in given),
        penalty=weights * copies(along, times),
        options=options,
        best=best,
    )
    if best:
        log.info("steps that the rule picked: %s", best.best_step.int().tolist())
    return (best.best if best else last).parts(times)


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
    penalty: float | Tensor,
    options: IGD,
    best: KeepBest[N] | None = None,
) -> N:
    """Train B networks from w_0 along their invariant directions, with lambda = ``penalty`` (B,).

    Of points x (B, n, d), y and f_0 (B, n), U (B, n, k) of ``within``, S (B, k) and theta
    (B, k); the other lambdas of ``options`` do not count; ``best`` looks on.
    """
    weight = torch.as_tensor(penalty, dtype=x.dtype, device=x.device).expand(len(x))
    convergence = Convergence(
        network, tolerance=options.tolerance, window=options.window, device=x.device
    )

    def objective(step: int, f: Tensor, networks: N, rows: slice) -> Tensor:
        g = ((f - f0[rows]).unsqueeze(-2) @ u[rows]).squeeze(-2) / s[rows]
        left = 1.0 if options.cosine == "smoothed" else 0.5 ** (step - 1)
        cos = cosine_to_direction(g, theta[rows], SMOOTHING * left)
        if options.cosine == "absolute":
            cos = cos.abs()
        return ((f - y[rows]) ** 2).mean(-1) + weight[rows] * (1 - cos)

    def look(step: int, networks: N, rows: slice, losses: Tensor) -> bool:
        if best is not None:
            best(step, networks, rows, losses)
        return convergence(step, networks, rows, losses)

    last = minimise(
        network,
        x,
        objective,
        steps=options.steps,
        learning_rate=options.learning_rate,
        after_step=look,
        keep=convergence.state + (best.state if best else []),
    )
    log.info("steps until the objective stopped falling: %s", convergence.ended.int().tolist())
    return convergence.result(last)


def cosine_to_direction(g: Tensor, theta: Tensor, smoothing: float) -> Tensor:
    """cos(theta, g), (B,), smoothed at g = 0.

    Of the network's change g_w = S^-1 U^T (f - f_0) (B, k) and theta (B, k), both zero beyond a
    seed's own k.
    """
    length2 = (theta**2).sum(-1)
    norm = (length2 * ((g**2).sum(-1) + smoothing**2 * length2)).sqrt()
    return (g * theta).sum(-1) / norm
