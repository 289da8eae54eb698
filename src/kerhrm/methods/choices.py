"""The paper's rules that choose among the candidates of a baseline's grid.

Methods without environment labels take the best score on the pooled validation sample;
methods that are given labels take the best minimum over the validation environments
(paper, section 5.1, Colored MNIST).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.algorithm.selection import Task, point_scores, pooled_score, worst_environment_score
from kerhrm.features.mlp import MLP


def best_pooled(candidates: Sequence[MLP], x: Tensor, y: Tensor, task: Task) -> Tensor:
    """Index of the candidate with the best pooled validation score.

    Parameters
    ----------
    candidates : sequence of MLP, length C
        One batch of B networks each.
    x, y : Tensor, (B, m, d), (B, m)
        The validation sample.
    task : "classification" or "regression"

    Returns
    -------
    Tensor, (B,), int64
    """
    return pooled_score(candidate_scores(candidates, x, y, task)).argmax(-1)


def best_worst_environment(
    candidates: Sequence[MLP], x: Tensor, y: Tensor, environment: Tensor, task: Task
) -> Tensor:
    """Index of the candidate with the best minimum over the validation environments.

    Parameters
    ----------
    candidates, x, y, task
        As in :func:`best_pooled`.
    environment : Tensor, (B, m), integer
        Labels 0, 1, ... of the validation points.

    Returns
    -------
    Tensor, (B,), int64
    """
    scores = candidate_scores(candidates, x, y, task)
    labels = torch.arange(int(environment.max()) + 1, device=environment.device)
    membership = environment.unsqueeze(1) == labels[:, None]  # (B, E, m)
    return worst_environment_score(scores, membership.to(scores)).argmax(-1)


def candidate_scores(candidates: Sequence[MLP], x: Tensor, y: Tensor, task: Task) -> Tensor:
    """Scores of every validation point, (B, C, m)."""
    outputs = torch.stack([network(x) for network in candidates], dim=1)
    return point_scores(outputs, y.unsqueeze(1), task)
