"""What a result was made with: interpreter, machine, versions of the packages."""

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

DISTRIBUTION = "kerhrm"


def provenance() -> dict[str, Any]:
    """Facts about this computer and this environment, JSON-able.

    Returns
    -------
    dict
        ``python``, ``platform``, ``machine``, ``cpu_count``, and ``packages``: the installed
        version of this package and of everything that it and its workflow require.
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "packages": {name: found for name in packages() if (found := installed(name))},
    }


def packages() -> list[str]:
    """This package and its direct requirements, those of development excepted, in order."""
    required = [r for r in requires(DISTRIBUTION) or [] if 'extra == "dev"' not in r]
    names = [re.split(r"[^\w.-]", r, maxsplit=1)[0] for r in required]
    return [DISTRIBUTION, *sorted(names, key=str.lower)]


def installed(name: str) -> str | None:
    """The version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
