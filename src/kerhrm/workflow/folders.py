"""Folders, before any job starts."""

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


def import_from(folder: str | os.PathLike[str]) -> None:
    """Let every process started from here import from ``folder`` first."""
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    first = os.fspath(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([first, *others]))
