"""Networks by their options: drawn at w_0, written to files, read back."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.networks.mlp import init_mlp
from kerhrm.networks.modules import init_modules
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.storage.arrays import save_arrays
from kerhrm.storage.records import load_tensors


def build(options: NetworkOptions, seeds: Sequence[int], n_inputs: int) -> Network:
    """Draw w_0 of one network per seed, each from its own stream; float32, on the CPU.

    Parameters
    ----------
    options : NetworkOptions
        The architecture.
    seeds : sequence of int, length B
        Of the networks.
    n_inputs : int
        Columns of the inputs, d.

    Returns
    -------
    Network
        B networks; parameters and outputs have them as their first axis.

    Raises
    ------
    KerhrmError
        If the options name a module that is no network with one output.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, build
    >>> network = build(NetworkOptions(widths=[8]), seeds=[0, 1], n_inputs=3)
    >>> network.n_networks, network.n_parameters
    (2, 41)
    >>> network(torch.zeros(2, 5, 3)).shape
    torch.Size([2, 5])
    """
    if options.module is not None:
        return init_modules(options.module, seeds, n_inputs)
    return init_mlp(seeds, (n_inputs, *options.widths, 1))


def save_network(path: str | os.PathLike[str], network: Network, **beside: Tensor) -> None:
    """Write networks, and tensors that belong to them, to one file."""
    parameters = {f"parameter_{i}": p for i, p in enumerate(network.parameters())}
    arrays = {name: t.detach().cpu().numpy() for name, t in (beside | parameters).items()}
    save_arrays(path, arrays, network.facts)


def load_network(
    path: str | os.PathLike[str], device: torch.device | str = "cpu"
) -> tuple[Network, dict[str, Tensor]]:
    """Read what :func:`save_network` wrote: the networks and all tensors of the file."""
    tensors, facts = load_tensors(path, device)
    return from_tensors(tensors, facts), tensors


def from_tensors(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Network:
    """The networks among the tensors of such a file.

    Raises
    ------
    KerhrmError
        If the number of inputs is none, or as :func:`build`.
    """
    n_inputs = facts.get("n_inputs")  # an argument of whatever the file names
    if isinstance(n_inputs, bool) or not isinstance(n_inputs, int) or n_inputs < 1:
        problem = f"{str(n_inputs)[:40]!r} is no number of inputs of a network"
        raise KerhrmError(problem, "give a file that kerhrm has written")
    template = build(NetworkOptions(**facts["network"]), [0], n_inputs)
    parameters = range(len(template.parameters()))
    return template.replace([tensors[f"parameter_{i}"] for i in parameters])
