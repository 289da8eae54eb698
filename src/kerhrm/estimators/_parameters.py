"""Parameters of the estimators, as options of the library."""

import contextlib
import math
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from sklearn.utils import check_random_state

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.errors import KerhrmError, shown
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import Count, Natural, Options, Probability, option
from kerhrm.plugins import load_entry

T = TypeVar("T", bound=Options)
MAX_WEIGHTS = 10**9  #: of a network, which take 4 GB


class EstimatorOptions(KerHRMOptions):
    """KerHRM's options, and those of the estimators alone."""

    if_not_detected: Literal["erm", "fit"] = option(
        "erm", "what to do without environments"
    )
    if_not_better: Literal["erm", "fit"] = option(
        "erm", "what to do where KerHRM does not help"
    )
    margin: Probability | None = option(
        None,
        "share by which its error in the worst inferred environment has to "
        "be below ERM's; null: .1, and more of labels where it costs accuracy",
    )
    predictor: Literal["linear", "network"] = option("linear", "what predicts")
    max_exact: Count = option(
        5000, "training rows above which features are reduced by landmarks"
    )
    n_landmarks: Count = option(4000, "their number")
    verbose: Natural = option(0, "1: print a line for each iteration")


def options_of(estimator: Any, kind: type[T], **given: Any) -> T:
    """Options of a class from the parameters with the names of its fields, or as given.

    Raises KerhrmError naming the first parameter that is refused.
    """
    values = {}
    for name, field in kind.model_fields.items():
        value = given.get(name, getattr(estimator, name))
        if isinstance(field.default, list):
            value = _listed(value)
        values[name] = value.item() if isinstance(value, np.generic) else value
    try:
        return kind.parse(values)
    except KerhrmError as error:
        name = re.split(r"\W", error.problem)[0]
        if error.hint is not None or name not in kind.model_fields:
            raise
        hint = f"the default is {shown(kind.model_fields[name].default)}"
        raise KerhrmError(error.problem, hint) from error


def _listed(value: Any) -> list[Any]:
    """Values of a sequence, or a single value, of Python's own types."""
    if hasattr(value, "tolist"):  # arrays, tensors, pandas
        value = value.tolist()
    single = isinstance(value, str | bytes | Mapping | Iterator)
    if single or not isinstance(value, Iterable):
        return [value]
    return [each.item() if isinstance(each, np.generic) else each for each in value]


def draw_seed(random_state: Any) -> int:
    """Seed of a fit: a whole number itself, or a draw.

    Raises KerhrmError if it is neither a whole number, a RandomState, nor None.
    """
    if isinstance(random_state, numbers.Integral) and not isinstance(
        random_state, bool
    ):
        return int(random_state)
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    problem = (
        "random_state must be a whole number, a numpy RandomState or None; "
        f"got {shown(random_state)}"
    )
    raise KerhrmError(problem, "use random_state=0")


def network_options_of(network: Any) -> NetworkOptions:
    """Options of a network from hidden widths, a module's factory, or its name.

    Raises KerhrmError if it is none of these, or a function that Python would not find
    by its name.
    """
    if isinstance(network, str):
        return NetworkOptions.parse({"module": network}, "network: ")
    if isinstance(network, torch.nn.Module):
        kind = type(network).__name__
        problem = f"network must be a function that returns a module; got a {kind}"
        hint = "write def network(d) at the top level of a module, and pass network"
        raise KerhrmError(problem, hint)
    if not callable(network):
        try:
            return NetworkOptions.parse({"widths": _listed(network)}, "network: ")
        except KerhrmError as error:
            hint = error.hint or "give hidden widths, as network=(1024,)"
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
