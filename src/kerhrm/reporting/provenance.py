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
        version of this package and of what it and its workflow require, in order.
    """
    required = [r for r in requires(DISTRIBUTION) or [] if 'extra == "dev"' not in r]
    names = sorted((re.split(r"[^\w.-]", r, maxsplit=1)[0] for r in required), key=str.lower)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "packages": {name: v for name in [DISTRIBUTION, *names] if (v := installed(name))},
    }


def installed(name: str) -> str | None:
    """The version of a package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
