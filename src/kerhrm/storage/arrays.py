"""Files of the workflow: written atomically, read without pickle.

A file appears under its name only when it is complete: it is written under a temporary
name, flushed, and moved into place by ``os.replace``.
"""

import contextlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import numpy as np

from kerhrm.errors import KerhrmError

META = "__meta__"

_temporaries: ContextVar[Path | None] = ContextVar("temporaries", default=None)


@contextlib.contextmanager
def temporaries(folder: Path) -> Iterator[None]:
    """Keep incomplete files in ``folder``, and not beside their targets.

    Targets on another file system, to which nothing can be moved, are the exception.
    """
    token = _temporaries.set(folder)
    try:
        yield
    finally:
        _temporaries.reset(token)


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing so that it appears whole or not at all.

    Raises
    ------
    KerhrmError
        If the folder cannot be written or the disk is full.
    """
    target = Path(path)
    name = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = _folder_for(target)
        with tempfile.NamedTemporaryFile(
            dir=folder, prefix=".", suffix=".part", delete=False
        ) as handle:
            name = handle.name
            os.fchmod(handle.fileno(), 0o644)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(name, target)
        name = None
    except OSError as error:
        raise KerhrmError(
            f"cannot write {target}: {error.strerror or error}",
            "free disk space or make the folder writable, then run the same command again",
        ) from error
    finally:
        if name is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)


def _folder_for(target: Path) -> Path:
    folder = _temporaries.get()
    if folder is None:
        return target.parent
    folder.mkdir(parents=True, exist_ok=True)
    same_disk = folder.stat().st_dev == target.parent.stat().st_dev
    return folder if same_disk else target.parent


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text atomically."""
    with atomic(path) as handle:
        handle.write(text.encode())


def save_arrays(
    path: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any] | None = None,
) -> None:
    """Write named arrays and JSON-able facts about them to an uncompressed ``.npz``."""
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise TypeError(f"{name} holds Python objects; only plain arrays go to disk")
    facts = np.array(json.dumps(dict(meta or {}), sort_keys=True))
    with atomic(path) as handle:
        np.savez(handle, **{META: facts}, **arrays)  # type: ignore[arg-type]


def load_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read what :func:`save_arrays` wrote: the arrays and the facts.

    Raises
    ------
    KerhrmError
        If the file is missing, truncated, or not such a file.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise KerhrmError(f"{path} does not exist", "run the rule that makes it") from error
    except (OSError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise KerhrmError(f"{path} is damaged ({error})", "delete it and run again") from error
    return arrays, json.loads(str(arrays.pop(META, "{}")))
