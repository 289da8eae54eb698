"""The rule that picks hyper-parameters without test data and without environment labels.

Invariance is a promise about every environment, so a candidate is judged by its worst
result over the environments that were *learned*:

    score(f) = min_e  sum_i r_ie s(f(x_i), y_i) / sum_i r_ie ,

s = accuracy (classification) or minus the squared error (regression).  The minimum runs
over the environments learned under every candidate k and in every iteration so far, so
that all candidates are measured by one yardstick, and a candidate cannot look good
because its own environments are easy.  Pooled validation accuracy, the paper's rule,
rewards the spurious feature.
"""

import torch
from torch import Tensor

from kerhrm.data.dataset import Task


def point_scores(predictions: Tensor, y: Tensor, task: Task) -> Tensor:
    """Score of every point (..., m), the larger the better: correct (0/1) or minus squared error.

    ``y`` is broadcastable to the predictions (..., m).
    """
    if task == "classification":
        return ((predictions > 0) == (y > 0)).to(torch.float64)
    return -((predictions - y).to(torch.float64) ** 2)


def worst_environment_score(scores: Tensor, responsibilities: Tensor) -> Tensor:
    """Lowest mean score over soft environments, (B, C).

    Of point scores (B, C, m) of C candidates and memberships (B, E, m) of the points in E
    environments; environments without any point (weight 0) are left out.
    """
    weight = responsibilities.sum(-1)  # (B, E)
    occupied = weight > 1e-9
    per_environment = scores @ responsibilities.mT / weight.clamp_min(1e-9).unsqueeze(1)
    return per_environment.masked_fill(~occupied.unsqueeze(1), torch.inf).amin(-1)


def pooled_score(scores: Tensor) -> Tensor:
    """Mean score over all validation points, (B, C, m) to (B, C): the paper's rule."""
    return scores.mean(-1)
