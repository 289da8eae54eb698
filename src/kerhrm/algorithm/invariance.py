"""Invariant-learning step (M_p): directions that predict in every inferred environment.

theta_inv minimises ``sum_e w_e L^e(theta) + alpha penalty(theta) + rho |theta|^2`` over
the soft environments e (paper, equation "theta_inv"), for every candidate k and alpha.
The selection rule picks among them without test data and without environment labels.
Invariance is a statement about every environment, so a candidate is judged by its worst
result over the *inferred* ones:

    score(f) = min_e  sum_i r_ie s(f(x_i), y_i) / sum_i r_ie ,

s = accuracy (classification) or minus the squared error (regression).  The minimum runs
over the environments of every candidate k and of all iterations so far, so that all
candidates are measured alike, and none can look good because its own environments are
easy.  Pooled validation, the paper's rule, rewards the spurious feature.
"""

import itertools
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from kerhrm.algorithm.minimisers import minimisers
from kerhrm.algorithm.needs import require_directions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.penalties import solve
from kerhrm.algorithm.problem import Problem, Risks, weighted_moments
from kerhrm.algorithm.records import Direction, Directions, Memberships, predict_linear
from kerhrm.options import Task
from kerhrm.progress import progress

#: candidate ridges of ERM, in units of the mean eigenvalue of Psi^T Psi / n
ERM_RIDGES = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1)

Selection = Literal["worst_inferred", "pooled"]


def learn_directions(
    problem: Problem, environments: Sequence[Memberships], options: KerHRMOptions
) -> Directions:
    """Learn the invariant direction of every candidate (k, alpha), and choose one
    (M_p).

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    environments : sequence
        Of all iterations so far.  Directions are invariant over the last ones; scores
        are taken over all of them.
    options : KerHRMOptions
        Of Algorithm 1.

    Returns
    -------
    Directions
        C = G x (number of alphas) candidates.  Ties go to the k, then the alpha, that
        stands first in the options; a degenerate clustering's candidates are chosen
        only if there are no others.

    Raises
    ------
    KerhrmError
        As :func:`~kerhrm.algorithm.minimisers.minimisers`.
    SingularError
        If the system of a direction is singular.
    TooLittleMemory
        As :func:`~kerhrm.algorithm.needs.require_directions`.
    """
    require_directions(problem, environments, options)
    newest = environments[-1]
    n_alphas = len(options.alpha)
    n_candidates = len(newest.k)
    by_k = newest.train.new_zeros(n_candidates, n_alphas, len(problem.s))
    dimensions = newest.k.tolist()
    for g, k in enumerate(progress(dimensions, "invariant directions")):
        psi, _ = problem.reduced(k)
        by_size = options.weights == "by_size"
        risks = environment_risks(
            psi,
            problem.target,
            newest.train[g],
            ridge=options.ridge,
            by_size=by_size,
        )
        # next to a sum of losses the penalty weighs as much less than next to their
        # mean
        terms = 1
        if options.total == "sum":
            occupied = risks.weights > 0
            terms = int(occupied.sum())
        thetas = minimisers(options.penalty, psi, risks, options.alpha, terms)
        by_k[g, :, :k] = thetas
    theta = by_k.flatten(0, 1)
    score = selection_score(problem, theta, environments, options.stop_by)
    degenerate = newest.degenerate.repeat_interleave(n_alphas)
    set_aside = degenerate & ~degenerate.all()
    eligible = score.masked_fill(set_aside, -torch.inf)
    alphas = theta.new_tensor(options.alpha)
    return Directions(
        theta=theta,
        k=newest.k.repeat_interleave(n_alphas),
        alpha=alphas.repeat(len(newest.k)),
        score=score,
        chosen=best_candidate(eligible),
    )


def environment_risks(
    psi: Tensor,
    y: Tensor,
    memberships: Tensor,
    *,
    ridge: float = 0.0,
    by_size: bool = False,
) -> Risks:
    """Squared losses of soft environments, as their second moments.

    A_e = Psi^T R_e Psi / N_e, b_e = Psi^T R_e y / N_e, c_e = y^T R_e y / N_e,
    N_e = sum_i r_ie.

    Parameters
    ----------
    psi, y : Tensor, (n, k), (n,)
        Features and targets.
    memberships : Tensor, (n, K)
        Environments without any point (N_e = 0) get weight 0.
    ridge : float
        In units of the mean eigenvalue of Psi^T Psi / n.
    by_size : bool
        Weigh environments by their points, w_e = N_e / sum_f N_f, instead of equally,
        w_e = 1 / K.

    Returns
    -------
    Risks
        What a penalty needs.
    """
    total = memberships.sum(0)
    shares = (memberships / total.clamp_min(1e-300)).mT
    second, cross = weighted_moments(psi, y, shares)
    size = total / len(psi)
    # less than one without the points of dropped environments
    whole = size.sum()
    short = (whole - 1).abs() > 1e-9
    by_points = torch.where(short, size / whole, size)
    occupied = (size > 1e-9).to(psi.dtype)
    equal = occupied / occupied.sum()
    squares = (psi**2).sum()
    return Risks(
        second=second,
        cross=cross,
        constant=(shares * y**2).sum(-1),
        weights=by_points if by_size else equal,
        rho=ridge * squares / psi.numel(),
    )


def erm_direction(
    problem: Problem, k: Sequence[int], ridges: Sequence[float] = ERM_RIDGES
) -> Direction:
    """Learn ERM on the reduced features; k and ridge by pooled validation.

    What KerHRM falls back to where no environments are detected; its iteration is 0.
    Ties go to the smaller k, then the smaller ridge.

    Raises
    ------
    SingularError
        If the system of a direction is singular.
    """
    pairs = itertools.product(sorted(k), sorted(ridges))
    candidates = list(pairs)
    counts, _ = problem.counts
    everyone = counts[:, None]
    n_candidates = len(candidates)
    largest_k = len(problem.s)
    theta = problem.target.new_zeros(n_candidates, largest_k)
    for c, (dimension, ridge) in enumerate(candidates):
        psi, _ = problem.reduced(dimension)
        risks = environment_risks(psi, problem.target, everyone, ridge=ridge)
        matrix, target = risks.pooled
        theta[c, :dimension] = solve(matrix, target)
    score = selection_score(problem, theta, [], "pooled")
    best = best_candidate(score)
    dimension, _ = candidates[best]
    best_score = float(score[best])
    return Direction(
        theta=theta[best],
        k=dimension,
        alpha=0.0,
        score=best_score,
        iteration=0,
    )


def selection_score(
    problem: Problem,
    theta: Tensor,
    environments: Sequence[Memberships],
    rule: Selection,
) -> Tensor:
    """Score of directions theta (C, k_max) by the selection rule: (C,).

    For the worst inferred environment training points count as well as validation
    points: the smallest environment has a few dozen validation points, and a minimum
    over noisy means is ruled by their noise; what a closed form of k coefficients gains
    by having seen the training points is small.  The pooled rule, the paper's, takes
    validation points alone.
    """
    outputs = predict_linear(theta, problem.psi_validation, problem.f0_validation)
    of_validation = point_scores(outputs, problem.y_validation, problem.task)
    if rule == "pooled":
        weighted = of_validation * problem.validation_counts
        return weighted.mean(-1)
    outputs = predict_linear(theta, problem.psi_train, problem.f0_train)
    of_train = point_scores(outputs, problem.y, problem.task)
    train = all_memberships(environments, "train")
    validation = all_memberships(environments, "validation")
    scores = torch.cat([of_train, of_validation], dim=-1)
    memberships = torch.cat([train, validation], dim=-1)
    return worst_environment_score(
        scores,
        memberships,
    )


def point_scores(outputs: Tensor, y: Tensor, task: Task) -> Tensor:
    """Score of every point: correct (0 or 1) or minus the squared error.

    Shapes (..., m), float64.  An output that is not finite is no label, and its score
    is no number: NaN.
    """
    if task == "classification":
        predicted = outputs > 0
        positive = y > 0
        correct = predicted == positive
        diverged = ~outputs.isfinite()
        return correct.double().masked_fill(diverged, torch.nan)
    difference = outputs - y
    error = difference.double()
    return -(error**2)


def best_candidate(score: Tensor) -> int:
    """Number of the best of C scores (C,), the first among equals.

    One that is no number is worse than any other.
    """
    comparable = score.masked_fill(score.isnan(), -torch.inf)
    return int(comparable.argmax())


def worst_environment_score(scores: Tensor, memberships: Tensor) -> Tensor:
    """Lowest mean score over soft environments: (C, m), (E, m) to (C,).

    Environments without any point are left out.  NaN if the score of any point is, in
    whatever environment.
    """
    weight = memberships.sum(-1)  # (E,)
    sums = scores @ memberships.mT
    means = sums / weight.clamp_min(1e-9)
    occupied = weight > 1e-9
    of_occupied = torch.where(occupied, means, torch.inf)
    return of_occupied.amin(-1)


def all_memberships(
    environments: Sequence[Memberships], part: Literal["train", "validation"]
) -> Tensor:
    """Memberships (E, m) of the points of one part in the environments of all
    iterations.

    E = sum over iterations of G x K.  Degenerate candidates get weight 0, unless there
    is no other.
    """
    flags = [e.degenerate for e in environments]
    degenerate = torch.cat(flags)
    keep = ~degenerate | degenerate.all()  # (sum of G,)
    by_iteration = [
        e.train.mT if part == "train" else e.validation.mT for e in environments
    ]
    memberships = torch.cat(by_iteration)  # (sum of G, K, m)
    kept = memberships * keep[:, None, None]
    return kept.flatten(0, 1)
