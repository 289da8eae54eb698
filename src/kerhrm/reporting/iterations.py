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

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.iteration import Directions
from kerhrm.algorithm.problem import Problem
from kerhrm.arrays import load_arrays
from kerhrm.data.colored_mnist import colour
from kerhrm.methods.ntf_predictor import ntf_predictions
from kerhrm.reporting.methods import METHODS
from kerhrm.reporting.scores import COLUMNS, load_labels, score_predictions


def divergence(responsibilities: Tensor, y: Tensor, attribute: Tensor) -> Tensor:
    """Mean divergence of P(Y | C) between environments.

    Parameters
    ----------
    responsibilities : Tensor, (B, n, K)
        An environment without any weight is left out.
    y : Tensor, (B, n)
        Labels -1 and +1.
    attribute : Tensor, (B, n)
        C, 0 or 1.

    Returns
    -------
    Tensor, (B,)
        Nats; NaN with a single environment.
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
    learned: Sequence[Environments],
    history: Sequence[Directions],
    files: Mapping[str, str | Path],
) -> pd.DataFrame:
    """Scores of every iteration of Colored MNIST.

    Parameters
    ----------
    problem : Problem
    learned, history : sequences of length T
    files : mapping
        Paths of ``train``, ``validation`` and ``test_labels``.

    Returns
    -------
    DataFrame
        As :func:`kerhrm.reporting.scores.score_setting`'s, with settings ``iteration=t`` and
        the metric ``d_kl`` besides the accuracies.
    """
    labels = load_labels(files)
    attribute = torch.from_numpy(colour(load_arrays(files["train"])[0]["x"]))
    method = METHODS["kerhrm-ntf"]
    parts = []
    for t, (environments, directions) in enumerate(zip(learned, history, strict=True), start=1):
        outputs = ntf_predictions(problem, directions.winner.theta).to_arrays()
        about = {"setting": f"iteration={t}", "method": method.name, "selection": method.rule}
        scores = score_predictions(outputs, labels, "accuracy", **about)
        parts.append(scores[scores["metric"] != "generalisation_gap"])
        values = divergence(of_winner(environments, directions), problem.y, attribute)
        rows = [
            (*about.values(), seed, "d_kl", float(value), labels.source, "")
            for seed, value in zip(labels.seeds, values, strict=True)
        ]
        names = ["setting", "method", "selection", "seed", "metric", "value"]
        parts.append(pd.DataFrame(rows, columns=[*names, "data_source", "reason"])[COLUMNS])
    return pd.concat(parts, ignore_index=True)


def of_winner(environments: Environments, directions: Directions) -> Tensor:
    """Responsibilities (B, n, K) of the candidate k that the chosen direction has."""
    at = (environments.k == directions.winner.k.unsqueeze(1)).double().argmax(1)
    return environments.train[torch.arange(len(at)), at].cpu()
