"""Network training step: invariant gradient descent (IGD) along theta_inv.

    w_inv = argmin_w  (1/n) |f_w(X) - y|^2
            + lambda (1 - cos(theta, g_w)),     g_w = S^-1 U^T (f_w(X) - f_0(X)),

g_w is the network's change, expressed in the reduced features.  The paper prints |cos|,
which the opposite direction satisfies as well; the signed cosine is the default.  At w
= w_0 the cosine is 0/0: its denominator is |theta| (|g_w|^2 + (c |theta|)^2)^(1/2) with
c = 0.1 at the first step and half as much at each further one, so that the first
gradients are finite (Adam remembers a huge one for a thousand steps) and the optimum is
the printed one.  |cos| has a kink there: f_0 is computed as f_w is, or its rounding of
1e-7 would decide which direction the network takes. ``cosine="smoothed"`` keeps c: it
then draws g_w along theta, too, to a length at which what the squared error learns
elsewhere matters less.  Training ends where the objective has stopped falling, and the
selection rule picks the step as it picks lambda, on validation points.

A cosine near one is not enough: g_w counts all directions alike, but a change of the
outputs is S g_w, so that a small angle towards the largest singular value, where
spurious features may lie, is a large change.  What is left of it the squared error
learns, the longer the more, unless lambda is large.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import torch
from torch import Tensor

from kerhrm.algorithm.invariance import (
    all_memberships,
    best_candidate,
    point_scores,
    worst_environment_score,
)
from kerhrm.algorithm.needs import require_network
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Direction, Memberships, predict_linear
from kerhrm.networks.base import Network
from kerhrm.networks.training import (
    BestWeights,
    Callback,
    EarlyStopping,
    N,
    Step,
    train,
)
from kerhrm.progress import progress

SMOOTHING = 0.1  # c of the first step
#: times the errors of a constant and of theta's linear predictor: a network's is larger
#: where its training went astray alone
ASTRAY = 2.0


@dataclass(frozen=True)
class TrainedNetwork(Generic[N]):
    """The network of the cosine weight that the selection rule has chosen.

    Attributes
    ----------
    network : Network
        Trained.
    cosine_weight : float
        Its lambda; 0 where no environments were detected, which is ERM.
    score : float
        By the selection rule, on validation points.
    history : list of dict
        For each cosine weight: ``cosine_weight``, ``score``, ``step`` (of its weights)
        and ``n_steps`` (of its training).
    diverged : bool
        Whether no look found outputs that are numbers, of which the network then is the
        last one, or the squared error at the training points is more than twice that of
        a constant and that of theta's linear predictor, or no number: the learning rate
        is too large.
    """

    network: N
    cosine_weight: float
    score: float
    history: list[dict[str, float]]
    diverged: bool


def train_network(
    network: N,
    x: Tensor,
    x_validation: Tensor,
    problem: Problem,
    direction: Direction,
    environments: Sequence[Memberships],
    options: KerHRMOptions,
) -> TrainedNetwork[N]:
    """Train along theta_inv with every cosine weight; the selection rule chooses one.

    Where the direction comes from no iteration
    (:func:`~kerhrm.algorithm.invariance.erm_direction`) this is ERM: no penalty, and
    pooled validation.

    Parameters
    ----------
    network : Network
        w_0, from which the problem's features were extracted.
    x, x_validation : Tensor, (n, d), (m, d)
        Training and validation points, float32.
    problem : Problem
        Reduced features and labels.
    direction : Direction
        theta_inv.
    environments : sequence
        Of all iterations.
    options : KerHRMOptions
        Of Algorithm 1.

    Returns
    -------
    TrainedNetwork
        The chosen network, with its cosine weight.

    Raises
    ------
    TooLittleMemory
        As :func:`~kerhrm.algorithm.needs.require_network`.
    """
    require_network(network, x, x_validation, problem)
    detected = direction.iteration > 0
    y = problem.y_validation
    if options.stop_by == "pooled" or not detected:
        _, counts = problem.counts
        memberships = counts.to(y)[None]
    else:
        memberships = all_memberships(environments, "validation")

    def rule(candidate: N) -> Tensor:
        outputs = candidate(x_validation)
        scores = point_scores(outputs, y, problem.task)
        worst = worst_environment_score(scores[None], memberships)
        return worst[0]

    candidates: list[N] = []
    history: list[dict[str, float]] = []
    weights = options.cosine_weight if detected else [0.0]
    for weight in progress(weights, "networks"):
        callbacks = []
        if options.check_every:
            best = BestWeights(
                network, rule, every=options.check_every, steps=options.steps
            )
            callbacks.append(best)
        candidate, n_steps = train_igd(
            network,
            x,
            problem,
            direction,
            cosine_weight=weight,
            options=options,
            callbacks=callbacks,
        )
        step = n_steps
        if options.check_every:
            best.look(n_steps, candidate)
            candidate = best.or_last(candidate)
            step = best.best_step or n_steps
        with torch.no_grad():
            score = float(rule(candidate))
        candidates.append(candidate)
        history.append(
            {
                "cosine_weight": weight,
                "score": score,
                "step": step,
                "n_steps": n_steps,
            }
        )
    # in single precision, as published
    scores = torch.tensor([row["score"] for row in history], dtype=torch.float32)
    chosen = best_candidate(scores)
    best_network = candidates[chosen]
    failed = not math.isfinite(history[chosen]["score"])
    return TrainedNetwork(
        network=best_network,
        cosine_weight=history[chosen]["cosine_weight"],
        score=history[chosen]["score"],
        history=history,
        diverged=failed or _is_astray(best_network, x, problem, direction),
    )


@torch.no_grad()
def _is_astray(
    network: Network, x: Tensor, problem: Problem, direction: Direction
) -> bool:
    """Whether a constant and theta's linear predictor both fit the training points
    better by far than a network does, whose outputs may be no numbers."""
    y = problem.y.double()
    counts, _ = problem.counts
    total = counts.sum()
    constant = (counts * y).sum() / total
    # psi^T theta = u^T (s theta), without a copy of the features
    linear = predict_linear(problem.s * direction.theta, problem.u, problem.f0_train)

    def error(outputs: Tensor) -> Tensor:
        return (counts * (outputs.double() - y) ** 2).sum() / total

    outputs = network(x)
    limit = ASTRAY * torch.maximum(error(constant), error(linear))
    return not bool(error(outputs) <= limit)


def train_igd(
    network: N,
    x: Tensor,
    problem: Problem,
    direction: Direction,
    cosine_weight: float,
    options: KerHRMOptions,
    callbacks: Sequence[Callback[N]] = (),
) -> tuple[N, int]:
    """Train a network from w_0 with one cosine weight, and count its steps.

    Arguments are those of :func:`train_network`, and callbacks of the training.  The
    weights are those of the last step, where the objective stopped falling.
    """
    used = torch.arange(len(problem.s), device=x.device) < direction.k
    u = (problem.u * used).to(x)
    s = problem.s.to(x)
    y = problem.y.to(x)
    theta = direction.theta.to(x)
    counts = problem.counts[0].to(x)
    with torch.no_grad():
        # as in the training: f_w - f_0 is exactly zero at w_0, where |cos| has a kink
        outputs = network.at(x)
        f0 = outputs(network)

    def objective(f: Tensor, network: N, step: Step) -> Tensor:
        decay = 1.0 if options.cosine == "smoothed" else 0.5 ** (step - 1)
        explained = (f - f0) @ u
        change = explained / s
        smoothing = SMOOTHING * decay
        cosine = cosine_to_direction(change, theta, smoothing)
        if options.cosine == "absolute":
            cosine = cosine.abs()
        errors = f - y
        squared_error = (counts * errors**2).mean()
        penalty = cosine_weight * (1 - cosine)
        return squared_error + penalty

    stopping = EarlyStopping(options.tol, options.window)
    trained = train(
        network,
        x,
        objective,
        steps=options.steps,
        learning_rate=options.learning_rate,
        callbacks=[*callbacks, stopping],
        steps_alike=True,
    )
    return trained, stopping.n_steps


def cosine_to_direction(g: Tensor, theta: Tensor, smoothing: float | Tensor) -> Tensor:
    """cos(theta, g) of the network's change g and theta, (k,) each,
    smoothed at g = 0."""
    length2 = (theta**2).sum()
    squares = (g**2).sum()
    change2 = squares + smoothing**2 * length2
    norm = (length2 * change2).sqrt()
    product = (g * theta).sum()
    return product / norm
