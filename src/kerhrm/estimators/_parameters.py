"""Parameters of the estimators, as options of the library."""

import inspect
import numbers
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from kerhrm.algorithm.options import HeterogeneityOptions, KerHRMOptions
from kerhrm.errors import KerhrmError, shown, similar
from kerhrm.estimators.options import EstimatorOptions
from kerhrm.options import (
    Natural,
    Options,
    as_list,
    python_value,
)

T = TypeVar("T", bound=Options)
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
            value = as_list(value)
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
