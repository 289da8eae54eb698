"""Empirical risk minimisation: argmin_w (1/n) |f_w(X) - y|^2 (paper, section 5).

The network is the one that KerHRM uses.  How long to train is chosen by the paper's rule
for methods without environment labels: the best result on the pooled validation sample,
looked at every few steps.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.algorithm.selection import point_scores, pooled_score
from kerhrm.data.samples import Samples
from kerhrm.methods.erm.options import ERM
from kerhrm.networks.protocol import Network
from kerhrm.networks.stopping import KeepBest
from kerhrm.networks.training import train


def train_erm(
    samples: Samples, network: Network, options: ERM, stops: Sequence[int]
) -> list[Network]:
    """Train B networks; each keeps the weights of its best validation score until every stop."""

    def score(networks: Network, rows: slice) -> Tensor:
        outputs = networks(samples.x_validation[rows])
        return pooled_score(point_scores(outputs, samples.y_validation[rows], samples.task))

    every, device = options.evaluate_every, samples.x.device
    bests = [KeepBest(network, score, every=every, steps=stop, device=device) for stop in stops]

    @torch.no_grad()
    def look(step: int, networks: Network, rows: slice, losses: Tensor) -> None:
        if due := [best for best in bests if best.due(step)]:
            now = score(networks, rows)  # once for all
            for best in due:
                best.note(step, networks, rows, now)

    train(
        network,
        samples.x,
        lambda f, rows: ((f - samples.y[rows]) ** 2).mean(-1),
        steps=options.steps,
        learning_rate=options.learning_rate,
        after_step=look,
        keep=[tensor for best in bests for tensor in best.state],
    )
    return [best.best for best in bests]
