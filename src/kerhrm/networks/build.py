"""Networks by their options, drawn at w_0."""

from kerhrm.errors import KerhrmError
from kerhrm.networks.base import Network
from kerhrm.networks.mlp import init_mlp
from kerhrm.networks.modules import init_module
from kerhrm.networks.options import NetworkOptions


def build(options: NetworkOptions, seed: int, d: int) -> Network:
    """Draw w_0 of a network; float32, on the CPU.

    Parameters
    ----------
    options : NetworkOptions
        The architecture.
    seed : int
        Of the weights.
    d : int
        Number of inputs.

    Returns
    -------
    Network
        Untrained.

    Raises
    ------
    KerhrmError
        If d is below 1, or the options name a module that is no network with one
        output.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, build
    >>> network = build(NetworkOptions(widths=[8]), seed=0, d=3)
    >>> network.n_parameters, network(torch.zeros(5, 3)).shape
    (41, torch.Size([5]))
    """
    if d < 1:
        raise KerhrmError(f"d must be 1 or more; got {d}", "give the number of inputs")
    if options.module is not None:
        return init_module(options.module, seed, d)
    return init_mlp(seed, (d, *options.widths, 1))
