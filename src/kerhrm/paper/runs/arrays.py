"""Files of a run: written atomically, read without pickle.

A file appears under its name only when it is complete: it is written under another name
in the same folder, flushed, and moved into place by ``os.replace``.  Its mode follows
the umask.
"""

import contextlib
import gzip
import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from kerhrm.errors import FileError, KerhrmError

META = "__meta__"
File = str | os.PathLike[str]
PART = ".part"  #: ending of files that are not complete


@contextlib.contextmanager
def atomic(path: File) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing so that it appears whole or not at all.

    Raises KerhrmError if the folder cannot be written or the disk is full.
    """
    target = Path(path)
    part = target.with_name(f".{uuid.uuid4().hex}{PART}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:
        raise FileError(
            f"cannot write {target}: {error.strerror or error}",
            "free disk space or make the folder writable, "
            "then run the same command again",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: File, text: str) -> None:
    """Write UTF-8 text atomically; compressed, if the name ends in .gz."""
    content = text.encode()
    with atomic(path) as file:
        file.write(
            gzip.compress(content, mtime=0) if str(path).endswith(".gz") else content
        )


@contextlib.contextmanager
def reading(path: File, hint: str = "delete it and run again") -> Iterator[None]:
    """Turn whatever a missing or damaged file raises into one line."""
    try:
        yield
    except KerhrmError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        missing = (
            "make it with snakemake; results/NAME is the run of --config preset=NAME"
        )
        raise FileError(f"{path} does not exist", missing) from error
    except Exception as error:
        what = str(error).partition("\n")[0]
        raise FileError(f"{path} is damaged ({what})", hint) from error


def save_arrays(path: File, arrays: Mapping[str, np.ndarray], **meta: Any) -> None:
    """Write named arrays, and JSON-able facts about them, to an uncompressed
    ``.npz``."""
    plain = {name: np.asarray(array) for name, array in arrays.items()}
    if objects := [name for name, array in plain.items() if array.dtype.hasobject]:
        raise TypeError(
            f"{objects[0]} holds Python objects; only plain arrays go to disk"
        )
    facts = np.array(json.dumps(meta, sort_keys=True))
    with atomic(path) as file:
        np.savez(file, **{META: facts}, **plain)  # type: ignore[arg-type]


def load_arrays(path: File) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the facts that :func:`save_arrays` wrote."""
    with reading(path), np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
        return arrays, json.loads(str(arrays.pop(META, "{}")))


def save_stacked(
    path: File, each: Sequence[Mapping[str, np.ndarray]], **meta: Any
) -> None:
    """Write the arrays of all seeds to one file, stacked along a new first axis."""
    save_arrays(
        path, {name: np.stack([one[name] for one in each]) for name in each[0]}, **meta
    )


def load_records(kind: Any, path: File, device: Any = None) -> list[Any]:
    """Read the ``arrays()`` of records, as ``Environments``, that :func:`save_stacked`
    wrote."""
    arrays, _ = load_arrays(path)
    with reading(path):
        n_seeds = {len(array) for array in arrays.values()}
        return [
            kind.from_arrays(
                {name: array[seed] for name, array in arrays.items()}, device
            )
            for seed in range(n_seeds.pop())
        ]
