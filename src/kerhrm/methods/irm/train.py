"""Invariant risk minimisation with environment labels: :mod:`kerhrm.methods.irmv1`."""

from kerhrm.data.samples import Samples
from kerhrm.methods.irm.options import IRM
from kerhrm.methods.irmv1 import train_irmv1
from kerhrm.networks.protocol import Network


def train_irm(samples: Samples, network: Network, options: IRM) -> Network:
    """Train B networks from w_0 on the environments that the samples name.

    Raises
    ------
    KerhrmError
        If a regression is to have the logistic loss.
    """
    assert samples.environment is not None
    return train_irmv1(samples, samples.environment, network, options)
