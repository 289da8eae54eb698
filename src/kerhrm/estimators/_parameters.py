"""Parameters of the estimators, as options of the library."""

import contextlib
import functools
import inspect
import math
import numbers
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, ParamSpec, Self, TypeVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from kerhrm.algorithm.options import HeterogeneityOptions, KerHRMOptions
from kerhrm.entries import load_entry
from kerhrm.errors import KerhrmError, ParameterError, shown, similar, suggest
from kerhrm.estimators.options import EstimatorOptions
from kerhrm.networks.base import Network
from kerhrm.networks.build import build
from kerhrm.networks.modules import of_module
from kerhrm.networks.options import NetworkOptions
from kerhrm.options import (
    Natural,
    Options,
    listed,
    python_value,
)

T = TypeVar("T", bound=Options)
P = ParamSpec("P")
MAX_WEIGHTS = 10**9  #: of a network, which take 4 GB
OPTION_NAMES = EstimatorOptions.model_fields
PREFIX = "options__"  #: of an option's name among parameters
#: parameters whose None is a default, which the table's columns change
WITH_DEFAULTS = ("k", "alpha", "n_init")
#: parameters that no options hold
START = "network", "validation_fraction", "random_state", "device", "n_jobs"


class FitOptions(EstimatorOptions, KerHRMOptions):
    """Parameters and options of a fit, in one record as the algorithm reads them."""

    if_not_detected: Literal["erm", "fit"] = "erm"
    if_not_better: Literal["erm", "fit"] = "erm"
    predictor: Literal["linear", "network"] = "linear"
    verbose: Natural = 0


PARAMETERS = {*FitOptions.model_fields, *START} - {*OPTION_NAMES}


def fit_options(estimator: Any) -> FitOptions:
    """Parameters of an estimator and its ``options``, for a fit.

    Those of :data:`WITH_DEFAULTS` are among the fields that are set if they are given.

    Raises KerhrmError naming the first one that is refused.
    """
    number = estimator.n_environments
    read = read_options(estimator.options)
    given = dict(read)
    given["n_environments"] = 2 if number is None else number
    given["pretest"] = _read_pretest(estimator.pretest)
    defaults = [name for name in WITH_DEFAULTS if getattr(estimator, name) is None]
    return options_of(estimator, FitOptions, defaults, **given)


def _read_pretest(pretest: Any) -> HeterogeneityOptions | None:
    """Options of the pre-test; None: there is none."""
    if pretest is None or isinstance(pretest, HeterogeneityOptions):
        return pretest
    if isinstance(pretest, bool | np.bool_):
        return HeterogeneityOptions() if pretest else None
    if isinstance(pretest, Mapping):
        return HeterogeneityOptions.parse(pretest, "pretest: ")
    problem = f"pretest must be True, False or options; got {shown(pretest)}"
    raise KerhrmError(problem, 'use pretest=True, or pretest={"level": 0.01}')


def options_of(
    estimator: Any, kind: type[T], defaults: Collection[str] = (), **given: Any
) -> T:
    """Options of a class from the parameters with the names of its fields, or as given.

    Fields of some names keep their ``defaults``.

    Raises KerhrmError naming the first parameter that is refused.
    """
    values = {}
    for name, field in kind.model_fields.items():
        if name in defaults:
            continue
        value = given[name] if name in given else getattr(estimator, name)
        if isinstance(field.default, list):
            value = listed(value)
        values[name] = python_value(value)
    try:
        return _parsed(kind, values, "{}")
    except KerhrmError as error:
        hint = _hint_of(error, estimator)
        raise KerhrmError(error.problem, hint) from error


def _hint_of(error: KerhrmError, estimator: Any) -> str | None:
    """Hint of an error about a parameter, with the default that the estimator has.

    That of the options may be another one, as a list where the estimator has None.
    """
    name, *_ = re.split(r"\W", error.problem)
    parameter = inspect.signature(type(estimator)).parameters.get(name)
    if parameter is None or not (error.hint or "").startswith("the default is "):
        return error.hint
    return f"the default is {shown(parameter.default)}"


def read_options(options: Any) -> EstimatorOptions:
    """Options as an estimator is given them: some by name, an object, or None.

    Raises KerhrmError naming the first one that is unknown or refused.
    """
    values = given_options(options)
    return _parsed(EstimatorOptions, values, "options[{!r}]")


def given_options(options: Any) -> dict[str, Any]:
    """Values of the options that are given, by name, of Python's own types.

    Raises KerhrmError if they are no mapping and no object of theirs, or one is
    unknown.
    """
    if options is None:
        return {}
    if isinstance(options, EstimatorOptions):
        set_names = options.model_fields_set
        options = {name: getattr(options, name) for name in set_names}
    elif isinstance(options, Options):
        raise _other_options(options)
    elif not isinstance(options, Mapping):
        problem = f"options must be a mapping of names to values; got {shown(options)}"
        raise KerhrmError(problem, 'give options={"ridge": 0.001}')
    for name in options:
        _check_name(name)
    return {name: python_value(value) for name, value in options.items()}


def _other_options(options: Options) -> KerhrmError:
    """Error for options of another class, with how an estimator is given them."""
    moved, spelled = [], []
    for name in type(options).model_fields:
        value = getattr(options, name)
        if name not in options.model_fields_set:
            continue
        if name in OPTION_NAMES:
            moved.append(f'"{name}": {shown(value)}')
        elif name in PARAMETERS:
            spelled.append(f"{name}={shown(value)}")
    if moved:
        spelled.append(f"options={{{', '.join(moved)}}}")
    kind = type(options).__name__
    problem = f"options must be EstimatorOptions or a mapping; got {kind}"
    hint = f"give {', '.join(spelled)}" if spelled else "leave options out"
    return KerhrmError(problem, hint)


def _check_name(name: Any) -> None:
    """Refuse what is no option's name."""
    if name in OPTION_NAMES:
        return
    plain = str(name).removeprefix(PREFIX)
    close = plain if plain in OPTION_NAMES else similar(plain, OPTION_NAMES)
    hint = f"did you mean {close!r}?" if close else "kerhrm.EstimatorOptions lists them"
    if plain in EstimatorOptions.renamed:
        hint = EstimatorOptions.instead_of(plain)
    elif plain in PARAMETERS:
        hint = f"{plain} is a parameter of its own: give {plain}=..."
    raise KerhrmError(f"options[{shown(name)}]: no such option", hint)


def _parsed(kind: type[T], values: Mapping[str, Any], spelling: str) -> T:
    """Options of a class from values; an error has the spelling of the name."""
    try:
        return kind.parse(values)
    except KerhrmError as error:
        words = re.split(r"\W", error.problem)
        name = words[0]
        rest = error.problem.removeprefix(name)
        problem = spelling.format(name) + rest
        raise KerhrmError(problem, error.hint) from error


class WithOptions(BaseEstimator):  # type: ignore[misc]
    """Base of estimators whose parameter ``options`` has names and values.

    Each option is a parameter ``options__NAME`` for searches and ``set_params``.
    """

    options: EstimatorOptions | Mapping[str, Any] | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, ``deep`` with every option, by ``options__NAME``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if not deep or "options" not in params:
            return params
        defaults = dict(EstimatorOptions())
        with contextlib.suppress(KerhrmError):  # which a fit raises
            defaults |= given_options(self.options)
        prefixed = {PREFIX + name: value for name, value in defaults.items()}
        return params | prefixed

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and options by ``options__NAME``.

        Raises ParameterError for an option without that prefix.  A subclass has the
        parameters of its own ``__init__``: a name of theirs is no option, and without
        ``options`` among them there are none.
        """
        names = self._get_param_names()
        if "options" not in names:
            super().set_params(**params)
            return self
        others = {name: value for name, value in params.items() if name not in names}
        refuse_moved(others, PREFIX + "{name}={value}")
        named = [name for name in others if name.startswith(PREFIX)]
        values = {name.removeprefix(PREFIX): params.pop(name) for name in named}
        if values:
            before = params.get("options", self.options)
            options = given_options(before)
            params["options"] = options | given_options(values)
        super().set_params(**params)
        return self

    def __sklearn_clone__(self) -> Self:
        """Clone; a read-only view of a mapping, which cannot be copied, as a dict."""
        twin = self
        copied = {}
        for name in ("options", "pretest"):
            value = getattr(self, name, None)
            if isinstance(value, MappingProxyType):
                copied[name] = dict(value)
        if copied:
            kind = type(self)
            twin = kind.__new__(kind)
            twin.__dict__.update(self.__dict__, **copied)
        cloned: Self = super(WithOptions, twin).__sklearn_clone__()
        return cloned

    def _get_params_html(self, deep: bool = True, *links: str, **named: str) -> Any:
        """Parameters for the picture in a notebook, where ``options`` are one line.

        scikit-learn 1.7 has no links, and 1.5 does not call this.
        """
        return super()._get_params_html(False, *links, **named)


def without_moved(init: Callable[P, None]) -> Callable[P, None]:
    """Let an ``__init__`` refuse what is no parameter, and stay free of logic.

    Raises ParameterError with the spelling of an option, or the nearest name.
    """
    parameters = inspect.signature(init).parameters
    known = list(parameters)[1:]

    @functools.wraps(init)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        refuse_moved(kwargs, '"{name}": {value}', "options={{{}}}")
        for name in kwargs:
            if name not in known:
                hint = _nearest(name, known)
                raise ParameterError(f"{name}: no parameter", hint)
        init(*args, **kwargs)

    return checked


def _nearest(name: str, known: Sequence[str]) -> str:
    """Hint with the parameter or option that a name is like, or all parameters."""
    names = [*known, *OPTION_NAMES]
    close = similar(name, names)
    if close in OPTION_NAMES:
        return f'did you mean options={{"{close}": ...}}?'
    return suggest(name, known)


def refuse_moved(params: Mapping[str, Any], item: str, spelling: str = "{}") -> None:
    """Refuse options that are given as parameters; an error has the new spelling of
    each item, and of all of them."""
    renamed = EstimatorOptions.renamed
    moved = [name for name in params if name in OPTION_NAMES or name in renamed]
    if not moved:
        return
    items = []
    for name in moved:
        today = renamed.get(name, name)
        value = shown(params[name])
        items.append(item.format(name=today, value=value))
    names = ", ".join(moved)
    problem = f"{names}: no parameter, but an option"
    example = spelling.format(", ".join(items))
    raise ParameterError(problem, f"give {example}")


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
            return NetworkOptions.parse({"widths": listed(network)}, "network: ")
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
