"""Options of an estimator by name: ``options__NAME`` among its parameters."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ParamSpec, Self

from sklearn.base import BaseEstimator

from kerhrm.errors import KerhrmError, ParameterError, shown, similar, suggest
from kerhrm.estimators._parameters import OPTION_NAMES, PREFIX, given_options
from kerhrm.estimators.options import EstimatorOptions

P = ParamSpec("P")


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

        Raises ParameterError for an option without that prefix, and for a part of a
        parameter that has none, as ``pretest__level``.  A subclass has the
        parameters of its own ``__init__``: a name of theirs is no option, and without
        ``options`` among them there are none.
        """
        names = self._get_param_names()
        _refuse_nested(self, params)
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


def _refuse_nested(estimator: BaseEstimator, params: Mapping[str, Any]) -> None:
    """Refuse ``NAME__PART`` of a parameter that is no estimator and not ``options``."""
    for key, value in params.items():
        name, separator, part = key.partition("__")
        if not separator or key.startswith(PREFIX) or key in vars(estimator):
            continue
        if name not in estimator._get_param_names():  # which scikit-learn refuses
            continue
        if hasattr(params.get(name, getattr(estimator, name)), "set_params"):
            continue
        hint = f"give {name}=..."
        if name == "pretest":
            hint = f'give pretest={{"{part}": {shown(value)}}}'
        raise ParameterError(f"{key}: {name} has no parameters of its own", hint)


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
