"""Step "M_p" of an iteration: invariant directions of all candidates, and the choice."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from kerhrm.algorithm.invariant import minimise_risks, pooled_risks
from kerhrm.algorithm.linear import predict
from kerhrm.algorithm.options import Invariance, SelectionRule
from kerhrm.algorithm.penalties import PENALTIES
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.algorithm.selection import point_scores, pooled_score, worst_environment_score
from kerhrm.entries import load


def learn_directions(
    problem: Problem,
    learned: Sequence[Environments],
    options: Invariance,
    rule: SelectionRule = "worst_learned",
) -> Directions:
    """theta_inv for every candidate (k, alpha), scored by the selection rule.

    ``learned`` are the environments of all iterations so far, the last one's those to be
    invariant over.  C = G x (number of alphas); ties go to the smaller k, then the smaller alpha.
    """
    environments = learned[-1]
    penalty, alphas = load(PENALTIES[options.penalty])(), options.alpha
    theta = problem.s.new_zeros(*environments.k.shape, len(alphas), problem.s.shape[-1]).double()
    # of one data set and dimension at a time: psi may be all that fits into memory
    for b, dimensions in enumerate(environments.k.tolist()):
        for g, k in enumerate(dimensions):
            psi, _ = problem.reduced(b, k)
            unit = penalty.unit(psi)
            risks = pooled_risks(
                psi,
                problem.target[b],
                environments.train[b, g],
                ridge=options.ridge,
                shares=options.weights == "shares",
            )
            # beside a sum of losses the penalty weighs as much less than beside their mean
            terms = int((risks.weights > 0).sum()) if options.total == "sum" else 1
            for a, alpha in enumerate(alphas):
                theta[b, g, a, :k] = minimise_risks(risks, alpha * unit / terms, penalty)
    theta = theta.flatten(1, 2)
    score = selection_score(problem, theta, learned, rule)
    # a candidate without usable environments is eligible only if there is no other
    usable = environments.usable.repeat_interleave(len(alphas), dim=1)
    eligible = torch.where(usable.any(1, keepdim=True), usable, True)
    return Directions(
        theta=theta,
        k=environments.k.repeat_interleave(len(alphas), dim=1),
        alpha=theta.new_tensor(alphas).repeat(*environments.k.shape),
        score=score,
        chosen=score.masked_fill(~eligible, -torch.inf).argmax(-1),
    )


def selection_score(
    problem: Problem,
    theta: Tensor,
    learned: Sequence[Environments],
    rule: SelectionRule = "worst_learned",
) -> Tensor:
    """The selection rule's score of directions theta (B, C, k): (B, C).

    To the worst learned environment training points count as well as validation points.  The
    smallest one has a few dozen validation points, and a minimum over noisy means is ruled by
    their noise; against that, what a closed form of k coefficients gains by having seen the
    training points is small.  The pooled rule, the paper's, is about validation points alone.
    """
    if rule == "pooled":
        outputs = predict(problem.psi_validation, problem.f0_validation, theta)
        y = problem.y_validation.unsqueeze(1)
        return pooled_score(point_scores(outputs, y, problem.task))
    parts = [
        (problem.psi_train, problem.f0_train, problem.y),
        (problem.psi_validation, problem.f0_validation, problem.y_validation),
    ]
    scores = [
        point_scores(predict(psi, f0, theta), y.unsqueeze(1), problem.task) for psi, f0, y in parts
    ]
    memberships = [yardstick(learned, "train"), yardstick(learned, "validation")]
    return worst_environment_score(torch.cat(scores, dim=-1), torch.cat(memberships, dim=-1))


def yardstick(
    learned: Sequence[Environments], part: Literal["train", "validation"] = "validation"
) -> Tensor:
    """All environments learned so far, as memberships (B, E, m) of the points of one part.

    E = sum over iterations of G x K.  Environments of candidates where every start was
    degenerate get weight 0, unless a seed has no other.
    """
    usable = torch.cat([e.usable for e in learned], dim=1)
    keep = torch.where(usable.any(1, keepdim=True), usable, True)  # (B, sum G)
    memberships = torch.cat([getattr(e, part).mT for e in learned], dim=1)  # (B, sum G, K, m)
    return (memberships * keep[..., None, None]).flatten(1, 2)
