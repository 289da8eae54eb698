"""Methods of the registry on one table."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from torch import Tensor

from kerhrm.data.samples import Inferred, Samples
from kerhrm.entries import load
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm.networks.protocol import Network


def train_method(
    name: str, samples: Samples, network: Network, parameters: Mapping[str, Any]
) -> Callable[[Tensor], Tensor] | Inferred:
    """Train a method that reads points, from w_0 ``network``; a predictor, or one Inferred.

    Raises
    ------
    KerhrmError
        If a parameter is refused.
    """
    method = METHODS[name]
    try:
        options = load(method.options)(**parameters)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        cure = "see the parameter's description"
        raise KerhrmError(f"{where}={first['input']!r}: {first['msg']}", cure) from error
    entry = load(method.entry)
    if method.path:
        (trained,) = entry(samples, network, options, [getattr(options, method.path)])
    else:
        trained = entry(samples, network, options)
    return trained
