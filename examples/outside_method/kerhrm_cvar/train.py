"""Least mean loss of the worst share of the points (Rockafellar & Uryasev 2000)."""

from kerhrm.networks.stopping import Snapshots
from kerhrm.networks.training import train


def train_cvar(samples, network, options, stops):
    """Train B networks, and keep their weights at every stop."""
    path = Snapshots(network, stops, device=samples.x.device)
    train(
        network,
        samples.x,
        lambda f, rows: worst((f - samples.y[rows]) ** 2, options.share),
        steps=options.steps,
        learning_rate=options.learning_rate,
        after_step=path,
        keep=path.state,
    )
    return path.networks


def worst(losses, share):
    """Mean of the largest losses: (..., n) to (...)."""
    return losses.topk(max(1, round(share * losses.shape[-1]))).values.mean(-1)
