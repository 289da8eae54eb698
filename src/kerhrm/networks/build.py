"""Networks by their options: drawn at w_0, written to files, read back."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from kerhrm.networks.mlp import init_mlp
from kerhrm.networks.modules import init_modules
from kerhrm.networks.options import NetworkOptions
from kerhrm.networks.protocol import Network
from kerhrm.storage.arrays import load_arrays, save_arrays


def build(options: NetworkOptions, seeds: Sequence[int], n_inputs: int) -> Network:
    """Draw w_0 of one network per seed, each from its own stream; float32, on the CPU.

    Raises
    ------
    KerhrmError
        If the options name a module that is no network with one output.
    """
    if options.module is not None:
        return init_modules(options.module, seeds, n_inputs)
    return init_mlp(seeds, (n_inputs, *options.widths, 1))


def to_arrays(network: Network) -> dict[str, np.ndarray]:
    """Its parameters, for the disk; ``network.facts`` belong to them."""
    return {f"parameter_{i}": p.cpu().numpy() for i, p in enumerate(network.frozen().parameters())}


def from_arrays(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> Network:
    """What :func:`to_arrays` took apart."""
    template = build(NetworkOptions(**facts["network"]), [0], facts["n_inputs"])
    parameters = range(len(template.parameters()))
    return template.replace([torch.from_numpy(arrays[f"parameter_{i}"]) for i in parameters])


def save_network(path: str | os.PathLike[str], network: Network) -> None:
    """Write all parameters to one file, which :func:`load_network` reads."""
    save_arrays(path, to_arrays(network), network.facts)


def load_network(path: str | os.PathLike[str], device: torch.device | str = "cpu") -> Network:
    """Read what :func:`save_network` wrote."""
    return from_arrays(*load_arrays(path)).to(device)
