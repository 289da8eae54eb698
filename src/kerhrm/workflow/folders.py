"""Surroundings of the jobs: folders and environment variables."""

import os
import tempfile

from kerhrm.errors import KerhrmError


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Make sure that files can be created below ``folder``.

    Raises
    ------
    KerhrmError
        If the folder cannot be made or written.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise KerhrmError(
            f"results folder '{folder}' cannot be written: {error.strerror}",
            "choose another one with --config results=FOLDER",
        ) from error


def folder_of(setting: str) -> str:
    """Folder of a setting: ``r2=0.80,K=3`` lies in ``r2=0.80+K=3``.

    Snakemake cannot hand a wildcard with a comma to a job on a cluster (its issue 2366).
    """
    return setting.replace(",", "+")


def setting_in(folder: str) -> str:
    """Setting that lies in a folder; the inverse of :func:`folder_of`."""
    return folder.replace("+", ",")


def import_from(folder: str | os.PathLike[str]) -> None:
    """Let every process started from here import from ``folder`` first."""
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    first = os.fspath(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([first, *others]))


def reuse_memory() -> None:
    """Let every process started from here keep freed memory for the next array.

    By default glibc hands large arrays back to the system at once and gets fresh, zeroed
    pages for the next one, which takes more than half of the time of a training step
    (measured: 14 ms against 6 ms).  Other C libraries ignore the variables, and a user's
    own settings are kept.
    """
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(32 * 2**20))
    os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(4 * 2**30))
