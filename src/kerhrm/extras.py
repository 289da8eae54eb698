"""Packages that only parts of the project need: extras of ``pip install``."""

import os
from importlib.util import find_spec

from kerhrm.errors import KerhrmError, shown


class MissingPackageError(KerhrmError, ModuleNotFoundError):
    """A package of an extra that is not installed."""


def needs(extra: str, *packages: str) -> None:
    """Refuse to go on without the packages of an extra, such as ``workflow``.

    Called where a package of kerhrm begins, so that each of its modules says so.

    Raises
    ------
    MissingPackageError
        Naming the first package that is not installed, and the extra.
    """
    for package in packages:
        try:
            spec = find_spec(package)
        except (ModuleNotFoundError, ValueError):
            spec = None
        if spec is None:
            hint = f"pip install 'kerhrm[{extra}]'"
            raise MissingPackageError(f"{package} is not installed", hint)


def check_backend() -> None:
    """Refuse a value of the variable MPLBACKEND with which matplotlib does not start.

    Raises
    ------
    KerhrmError
        Naming the value.
    """
    name = os.environ.get("MPLBACKEND")
    if not name:
        return
    try:
        import matplotlib  # noqa: F401  (reads the variable)
    except ValueError as error:
        problem = f"MPLBACKEND must name a backend of matplotlib; got {shown(name)}"
        raise KerhrmError(problem, "unset MPLBACKEND, or set it to agg") from error
