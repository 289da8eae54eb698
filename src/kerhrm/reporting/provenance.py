"""What results were made with: packages, code, configuration, and how to make them again."""

import contextlib
import hashlib
import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from kerhrm.config.presets import DEVELOPMENT
from kerhrm.reporting import freeze

DISTRIBUTION = "kerhrm"
MADE_WITH = "made_with"  #: key of :func:`made_with` in ``versions.json``


def provenance() -> dict[str, Any]:
    """Interpreter, machine, and installed versions of this package and of what it requires."""
    required = [r for r in requires(DISTRIBUTION) or [] if 'extra == "dev"' not in r]
    names = sorted((re.split(r"[^\w.-]", r, maxsplit=1)[0] for r in required), key=str.lower)
    packages = {}
    for name in (DISTRIBUTION, *names):
        with contextlib.suppress(PackageNotFoundError):
            packages[name] = version(name)
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu_count": os.cpu_count(),
        "packages": packages,
    }


def made_with(checkout: Path) -> dict[str, Any]:
    """Hashes of what a checkout makes results with, and its commit.

    ``code``: all code from raw data to verdicts, see
    :func:`kerhrm.reporting.freeze.code_digest`; ``locks``: SHA-256 of the files that pin the
    packages, by name; ``commit``: None outside of git.
    """
    pinned = [checkout / name for name in freeze.VERSIONS]
    return {
        "commit": freeze.commit(checkout),
        "code": freeze.code_digest(checkout),
        "locks": {str(p.relative_to(checkout)): sha256(p) for p in pinned if p.exists()},
    }


def sha256(path: Path) -> str:
    """Hash of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def command(config: Mapping[str, Any], target: str = "all") -> str:
    """What makes a target of a run again, from its resolved configuration."""
    told = {"preset": DEVELOPMENT, "results": "results"}
    said = [f"{k}={config[k]}" for k, usual in told.items() if config.get(k, usual) != usual]
    return " ".join([f"snakemake --cores 2 {target}", *(["--config", *said] if said else [])])


def device(config: Mapping[str, Any], packages: Mapping[str, str]) -> str:
    """Where heavy jobs ran, as far as configuration and PyTorch's build tell."""
    asked = str(config.get("device", "auto"))
    build = packages.get("torch", "")
    if asked == "auto":
        return (
            "cpu (auto, with a CPU build of PyTorch)"
            if build.endswith("+cpu")
            else ("auto: a GPU if the machine had one")
        )
    return asked
