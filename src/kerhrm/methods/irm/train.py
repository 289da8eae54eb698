"""Invariant risk minimisation with environment labels: IRMv1 (Arjovsky et al. 2019)."""

from collections.abc import Sequence

from kerhrm.data.samples import Samples
from kerhrm.methods.irm.options import IRM
from kerhrm.methods.irmv1 import train_irmv1
from kerhrm.networks.protocol import Network


def train_irm(
    samples: Samples, network: Network, options: IRM, stops: Sequence[int]
) -> list[Network]:
    """Train on the true environments, see :func:`kerhrm.methods.irmv1.train_irmv1`."""
    return train_irmv1(samples, network, options, stops)
