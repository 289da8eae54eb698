"""Arrays and records of a run: written atomically, read without pickle."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import File, atomic, check_regular, quoted, unreadable
from kerhrm.memory import require

META = "__meta__"


def restoring(path: File) -> str:
    """The hint for a file that was published: no run makes it again where it was."""
    return f"restore it: git checkout {quoted(path)}, or from a copy"


@contextlib.contextmanager
def reading(path: File, hint: str = "delete it and run again") -> Iterator[None]:
    """Turn whatever a missing or damaged file, or a folder, raises into one line.

    A pipe is refused: it might never be written to.
    """
    check_regular(path, hint)
    try:
        yield
    except KerhrmError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = "make it with snakemake; results/NAME is the run of --config preset=NAME"
        raise FileError(f"{path} does not exist", hint) from error
    except IsADirectoryError as error:
        raise FileError(f"{path} is a folder", hint) from error
    except PermissionError as error:
        raise unreadable(path, error) from error
    except Exception as error:
        if isinstance(error, OSError) and error.filename:  # it was not opened
            raise unreadable(path, error) from error
        message = str(error)
        first_line, _, _ = message.partition("\n")
        raise FileError(f"{path} is damaged ({first_line})", hint) from error


def save_arrays(path: File, arrays: Mapping[str, np.ndarray], **meta: Any) -> None:
    """Write named arrays, and JSON-able facts about them, to an uncompressed
    ``.npz``."""
    facts = json.dumps(meta, sort_keys=True)
    contents = {META: np.array(facts)}
    for name, array in arrays.items():
        contents[name] = np.asarray(array)
        if contents[name].dtype.hasobject:
            problem = f"{name} holds Python objects"
            raise TypeError(f"{problem}; only plain arrays go to disk")
    with atomic(path) as file:
        np.savez(file, **contents)  # type: ignore[arg-type]


def load_arrays(path: File) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the facts that :func:`save_arrays` wrote.

    Raises KerhrmError, too, if the memory does not hold them.
    """
    with reading(path):
        n_bytes = os.path.getsize(path)
        require(n_bytes, f"reading {path}", "use a machine with more memory")
    with reading(path), np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
        facts = str(arrays.pop(META, "{}"))
        return arrays, json.loads(facts)


def save_stacked(
    path: File, each: Sequence[Mapping[str, np.ndarray]], **meta: Any
) -> None:
    """Write the arrays of all seeds to one file, stacked along a new first axis."""
    stacked = {}
    for name in each[0]:
        of_seeds = [arrays[name] for arrays in each]
        stacked[name] = np.stack(of_seeds)
    save_arrays(path, stacked, **meta)


def load_records(kind: Any, path: File, device: Any = None) -> list[Any]:
    """Read the ``arrays()`` of records, as ``Environments``, that :func:`save_stacked`
    wrote."""
    arrays, _ = load_arrays(path)
    with reading(path):
        first, *_ = arrays.values()
        records = []
        for seed in range(len(first)):
            of_seed = {name: array[seed] for name, array in arrays.items()}
            record = kind.from_arrays(of_seed, device)
            records.append(record)
        return records
