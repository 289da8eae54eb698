"""Empirical risk minimisation: argmin_w (1/n) |f_w(X) - y|^2 (paper, section 5).

The network is the one that KerHRM uses.  How long to train is chosen by the paper's rule
for methods without environment labels: the best result on the pooled validation sample,
looked at every few steps.
"""

import torch

from kerhrm.algorithm.selection import point_scores, pooled_score
from kerhrm.data.samples import Samples
from kerhrm.methods.erm.options import ERM
from kerhrm.networks.protocol import Network
from kerhrm.networks.training import train


def train_erm(samples: Samples, network: Network, options: ERM) -> Network:
    """Train B networks; each keeps the weights of its best validation score."""
    best = network.trainable_copy(samples.x.device)
    best_score = samples.y.new_full((len(samples.y),), -torch.inf, dtype=torch.float64)

    @torch.no_grad()
    def keep_best(step: int, current: Network, rows: slice) -> None:
        if step % options.evaluate_every and step != options.steps:
            return
        outputs = current(samples.x_validation[rows])
        score = pooled_score(point_scores(outputs, samples.y_validation[rows], samples.task))
        better = score > best_score[rows]
        best_score[rows][better] = score[better]
        for kept, new in zip(best.parameters(), current.parameters(), strict=True):
            kept[rows][better] = new[better]

    train(
        network,
        samples.x,
        lambda f, rows: ((f - samples.y[rows]) ** 2).mean(-1),
        steps=options.steps,
        learning_rate=options.learning_rate,
        after_step=keep_best,
        keep=[*best.parameters(), best_score],
    )
    return best.frozen()
