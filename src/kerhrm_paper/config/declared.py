"""Can names of cells give the options that packages declare?"""

from collections.abc import Sequence
from typing import Any

from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import METHODS
from kerhrm.plugins import Registry, origin
from kerhrm_paper.config.schemas import DATA_OPTIONS, LEARNER_OPTIONS
from kerhrm_paper.data.registry import DATA_SETS


def check_declared_names() -> None:
    """Refuse options of methods and data sets that names cannot give as they are.

    Raises KerhrmError with the package that declares the first one.
    """
    _check_declared(METHODS, LEARNER_OPTIONS)
    _check_declared(DATA_SETS, DATA_OPTIONS)


def _check_declared(registry: Registry[Any], reserved: Sequence[str]) -> None:
    """Refuse options of all that is registered."""
    for name, declared in registry.items():
        for option in declared.options.model_fields:
            try:
                _check_declared_name(option, reserved)
            except KerhrmError as error:
                package = origin(registry.group, name)
                problem = f"{package}: {error.problem}"
                raise KerhrmError(problem, error.hint) from error


def _check_declared_name(option: str, reserved: Sequence[str]) -> None:
    """Refuse an option that is reserved, or no text of a path."""
    if option in reserved:
        problem = f"the option name '{option}' is reserved"
        raise KerhrmError(problem, f"rename it; reserved are {', '.join(reserved)}")
    if not option.isascii():
        problem = f"the option name '{option}' must be ASCII"
        raise KerhrmError(problem, "rename it; names of cells have it")
