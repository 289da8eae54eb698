"""Checks on folders before any job starts."""

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
