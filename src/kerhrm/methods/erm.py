"""Empirical risk minimisation: argmin_w (1/n) |f_w(X) - y|^2 (paper, section 5).

The network is the one that KerHRM uses.  How long to train is chosen by the paper's rule
for methods without environment labels: the best result on the pooled validation sample,
looked at every few steps.
"""

import torch
from torch import Tensor

from kerhrm.algorithm.selection import Task, point_scores, pooled_score
from kerhrm.features.mlp import MLP
from kerhrm.methods.training import train


def train_erm(
    mlp: MLP,
    x: Tensor,
    y: Tensor,
    x_validation: Tensor,
    y_validation: Tensor,
    *,
    task: Task,
    steps: int,
    learning_rate: float,
    evaluate_every: int,
) -> tuple[MLP, Tensor]:
    """Train B networks; each keeps the weights of its best validation score.

    Parameters
    ----------
    mlp : MLP
        w_0.
    x, y : Tensor, (B, n, d), (B, n)
    x_validation, y_validation : Tensor, (B, m, d), (B, m)
    steps, learning_rate
        Of Adam, full batch.
    evaluate_every : int
        Steps between two looks at the validation sample.

    Returns
    -------
    mlp : MLP
    best_step : Tensor, (B,), int64
    """
    best = mlp.trainable_copy(x.device)
    best_score = torch.full((len(x),), -torch.inf, dtype=torch.float64, device=x.device)
    best_step = torch.zeros(len(x), dtype=torch.int64, device=x.device)

    @torch.no_grad()
    def keep_best(step: int, current: MLP, rows: slice) -> None:
        if step % evaluate_every and step != steps:
            return
        scores = point_scores(current(x_validation[rows]), y_validation[rows], task)
        score = pooled_score(scores)
        better = score > best_score[rows]
        best_score[rows][better], best_step[rows][better] = score[better], step
        for kept, new in zip(best.parameters(), current.parameters(), strict=True):
            kept[rows][better] = new[better]

    train(
        mlp,
        x,
        lambda f, rows: ((f - y[rows]) ** 2).mean(-1),
        steps=steps,
        learning_rate=learning_rate,
        after_step=keep_best,
    )
    return best.frozen(), best_step
