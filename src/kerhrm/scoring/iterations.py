r"""How prediction and clustering go on over the iterations (paper, Figure 2).

For every iteration t: accuracies of the NTF predictor of theta_t, and how much the
environments that it was learned from differ in P(Y | C), C being the colour:

.. math::
    D_{KL} = \frac{1}{K (K - 1)} \sum_{e \ne f} \sum_c P(c)
    \sum_y P^e(y | c) \log \frac{P^e(y | c)}{P^f(y | c)}, \qquad
    P^e(y | c) = \frac{\sum_i r_{ie} 1[y_i = y, c_i = c] + 1/2}{\sum_i r_{ie} 1[c_i = c] + 1},

in nats, with the training points' labels and responsibilities.  The half counts (Jeffreys'
prior) keep environments without overlap finite.  True environments are not needed.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from kerhrm.algorithm.prediction import ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.methods.registry import ROWS
from kerhrm.scoring.metrics import COLUMNS, Labels, mark, score_predictions


def divergence(responsibilities: Tensor, y: Tensor, attribute: Tensor) -> Tensor:
    """Mean divergence of P(Y | C) between environments: (B,), NaN with a single one.

    Parameters
    ----------
    responsibilities : Tensor, (B, n, K)
        An environment without any weight is left out.
    y, attribute : Tensor, (B, n)
        Labels -1 and +1; C, 0 or 1.
    """
    r = responsibilities.double()
    has = torch.stack([attribute == 0, attribute == 1], dim=1).to(r)  # (B, 2, n)
    positive = (has * (y > 0).unsqueeze(1)) @ r  # (B, 2, K)
    p = (positive + 0.5) / (has @ r + 1)
    shares = has.mean(-1)  # (B, 2), P(c)
    e, f = p.unsqueeze(-1), p.unsqueeze(-2)
    pairs = e * (e / f).log() + (1 - e) * ((1 - e) / (1 - f)).log()  # (B, 2, K, K)
    occupied = (r.sum(-2) > 0).to(r)  # (B, K)
    both = (occupied.unsqueeze(-1) * occupied.unsqueeze(-2)).unsqueeze(1)
    n_environments = occupied.sum(-1)
    total = (shares * (both * pairs).sum((-2, -1))).sum(-1)
    return total / (n_environments * (n_environments - 1))  # 0 / 0 with a single one


def score_iterations(
    problem: Problem,
    test: TestFeatures,
    learned: Sequence[Environments],
    history: Sequence[Directions],
    labels: Labels,
    attribute: np.ndarray | None,
    setting: str,
) -> pd.DataFrame:
    """Scores of T iterations of a classification, with an ``attribute`` (B, n) also ``d_kl``.

    As :func:`kerhrm.scoring.metrics.score_predictions`'s, without the generalisation gap.  The
    rows' settings are ``iteration=t``, and the mark of ``setting`` follows.
    """
    row = ROWS["kerhrm-ntf"]
    parts = []
    for t, (environments, directions) in enumerate(zip(learned, history, strict=True), start=1):
        outputs = ntf_predictions(problem, test, directions.winner.theta).to_arrays()
        name = f"iteration={t}{mark(setting)}"
        scores = score_predictions(
            outputs, labels, "accuracy", setting=name, method=row.title, selection=row.rule
        )
        parts.append(scores[scores["metric"] != "generalisation_gap"])
        if attribute is None:
            continue
        r = of_winner(environments, directions)
        values = divergence(r, problem.y, torch.from_numpy(attribute)).tolist()
        rows = [
            (name, row.title, seed, "d_kl", value, row.rule, labels.source, "")
            for seed, value in zip(labels.seeds, values, strict=True)
        ]
        parts.append(pd.DataFrame(rows, columns=COLUMNS))
    return pd.concat(parts, ignore_index=True)


def of_winner(environments: Environments, directions: Directions) -> Tensor:
    """Responsibilities (B, n, K) of the candidate k that the chosen direction has."""
    at = (environments.k == directions.winner.k.unsqueeze(1)).double().argmax(1)
    return environments.train[torch.arange(len(at)), at].cpu()
