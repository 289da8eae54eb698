"""Arrays and records of a run: written atomically, read without pickle."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import File, atomic

META = "__meta__"


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
