"""Real tables that packages ship, of the versions that envs/tables.lock pins."""

import re
import shlex
import sys
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm_paper.config.layout import CHECKOUT

DATA = CHECKOUT / "build" / "tables"
LOCK = CHECKOUT / "envs" / "tables.lock"
#: ``name==version`` at the start of a line of a lock
PINNED = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


def packaged(name: str = "") -> Path:
    """A file of the packages that ship the tables, or their folder.

    Raises KerhrmError if it is not there, or if the packages are not those of the lock.
    """
    path = DATA / name
    if not path.exists():
        raise KerhrmError(f"{path} does not exist", install(DATA, LOCK))
    check_versions(DATA, LOCK)
    return path


@cache
def check_versions(folder: Path, lock: Path) -> None:
    """Refuse packages of other versions than a lock's.

    Raises KerhrmError, which names the first such package.
    """
    text = lock.read_text(encoding="utf-8")
    versions: dict[str, set[str]] = {}
    for package in distributions(path=[str(folder)]):
        name = _normal(package.name)
        versions.setdefault(name, set()).add(package.version)
    for name, pinned in PINNED.findall(text):
        there = versions.get(_normal(name), set())
        if there != {pinned}:
            what = " and ".join(sorted(there)) or "nothing"
            problem = f"{folder} has {what} of {name}, and {lock} {pinned}"
            hint = f"rm -r {_quoted(folder)}; {install(folder, lock)}"
            raise KerhrmError(problem, hint)


def install(folder: Path, lock: Path) -> str:
    """The command that installs the packages of a lock into a folder."""
    pip = f"{_quoted(sys.executable)} -m pip install --no-deps --require-hashes"
    return f"{pip} --target {_quoted(folder)} -r {_quoted(lock)}"


def _quoted(path: str | Path) -> str:
    return shlex.quote(str(path))


def _normal(name: str) -> str:
    """A package's name as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
