"""Surroundings of the jobs: folders and environment variables."""

import os
import tempfile

from kerhrm.errors import KerhrmError


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Make sure that files can be created below ``folder``, or raise a KerhrmError."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise KerhrmError(
            f"results folder '{folder}' cannot be written: {error.strerror}",
            "choose another one with --config results=FOLDER",
        ) from error


def import_from(folder: str | os.PathLike[str]) -> None:
    """Let every process started from here import from ``folder`` first."""
    paths = [os.fspath(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, paths)))


def reuse_memory() -> None:
    """Let every process started from here keep freed memory for the next array.

    By default glibc gets fresh, zeroed pages for every large one, which takes more than half
    of the time of a training step (14 ms against 6 ms).  A user's own settings are kept.
    """
    os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(32 * 2**20))
    os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(4 * 2**30))
