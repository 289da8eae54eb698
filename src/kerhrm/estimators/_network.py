"""The parameter ``network`` of an estimator: hidden widths, a module or its factory."""

import contextlib
import math
from itertools import pairwise
from typing import Any

import torch

from kerhrm.entries import load_entry
from kerhrm.errors import KerhrmError, shown
from kerhrm.networks.base import Network
from kerhrm.networks.build import build
from kerhrm.networks.modules import of_module
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import as_list

MAX_WEIGHTS = 10**9  #: of a network, which take 4 GB


def is_module(network: Any) -> bool:
    """Whether a parameter ``network`` is a module, its factory or this one's name."""
    if isinstance(network, torch.nn.Module):
        return True
    return network_options_of(network).module is not None


def network_of(network: Any, seed: int, d: int) -> Network:
    """Network at w_0 of a parameter ``network``, for d inputs.

    A module's w_0 are its own weights, which stay as they are; others are drawn by the
    seed.

    Raises KerhrmError if it is no network, or larger than memory.
    """
    if isinstance(network, torch.nn.Module):
        return of_module(network, d)
    options = network_options_of(network)
    check_size(options, d)
    return build(options, seed, d)


def network_options_of(network: Any) -> NetworkOptions:
    """Options of a network from hidden widths, a module's factory, or its name.

    Raises KerhrmError if it is none of these, or a function that Python would not find
    by its name.
    """
    if isinstance(network, str):
        return NetworkOptions.parse({"module": network}, "network: ")
    if not callable(network):
        try:
            return NetworkOptions.parse({"widths": as_list(network)}, "network: ")
        except KerhrmError as error:
            hint = "give hidden widths, as network=(1024,)"
            raise KerhrmError(error.problem, hint) from error
    entry = (
        f"{getattr(network, '__module__', '')}:{getattr(network, '__qualname__', '')}"
    )
    with contextlib.suppress(KerhrmError):
        if load_entry(entry) is network:
            return NetworkOptions.parse({"module": entry})
    hint = "define the function at the top level of a module"
    problem = f"network must be a function that Python can import; got {shown(network)}"
    raise KerhrmError(problem, hint)


def check_size(options: NetworkOptions, d: int) -> None:
    """Refuse a network that no memory holds."""
    sizes = pairwise((d, *options.widths, 1))
    if options.module is None:
        number = math.fsum((1 + inputs) * outputs for inputs, outputs in sizes)
        if number > MAX_WEIGHTS:
            problem = f"network={options.widths} has {number:.1e} weights"
            hint = f"give fewer or narrower layers, of {MAX_WEIGHTS:.0e} in all"
            raise KerhrmError(f"{problem}, which are too many", hint)
