"""Data loaders of PyTorch as tables: their batches are read once, in order."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, RandomSampler

from kerhrm.errors import KerhrmError
from kerhrm.tables.arrays import plain

#: what is read as a loader, or refused with its cure
LOADERS = DataLoader, Dataset

HINT = "give batches (x, y) of tensors, x of shape (batch, d) and y of shape (batch,)"


def unloaded(X: Any, y: Any = None, *, needs_y: bool = True) -> tuple[Any, Any]:
    """Rows and targets as they are, or those of all batches of a loader.

    Parameters
    ----------
    X : array-like or DataLoader
        A loader gives batches x, or (x, y).  Points of more dimensions, as images, are
        flattened.
    y : array-like, optional
        Targets of an array; of a loader they are its own.
    needs_y : bool
        Whether the loader has to give targets.

    Returns
    -------
    X, y : array-like
        Of a loader arrays (n, d) and, if it has targets, (n,).

    Raises
    ------
    KerhrmError
        If the loader gives rows in another order each time, leaves some out, has none,
        fails, or gives batches that are no points and targets; or if targets are given
        beside it.
    """
    if isinstance(X, Dataset):
        kind = type(X).__name__
        problem = f"X must be a table or a loader; got the data set {kind}"
        raise KerhrmError(problem, "give DataLoader(dataset, batch_size=1024)")
    if not isinstance(X, DataLoader):
        return X, y
    if y is not None:
        problem = "X is a loader, whose batches hold the targets, and y is given, too"
        raise KerhrmError(problem, "leave y out, or give X as an array")
    _check_order(X)
    rows: list[np.ndarray] = []
    targets: list[np.ndarray | None] = []
    for number, batch in enumerate(_batches(X)):
        x, target = _points(batch, number)
        if rows and x.shape[1] != rows[0].shape[1]:
            problem = f"batch {number} of the loader has {x.shape[1]} columns"
            problem += f", and the first one {rows[0].shape[1]}"
            raise KerhrmError(problem, "give points of one shape")
        rows.append(x)
        targets.append(target)
    if not rows:
        raise KerhrmError("the loader has no batches", "give a loader with rows")
    known = [target for target in targets if target is not None]
    if needs_y and len(known) < len(rows):
        without = next(i for i, target in enumerate(targets) if target is None)
        raise KerhrmError(f"batch {without} of the loader has no targets", HINT)
    x = np.concatenate(rows)
    return x, np.concatenate(known) if len(known) == len(rows) else None


def _check_order(loader: DataLoader[Any]) -> None:
    """Refuse a loader whose rows could not be told by their numbers.

    What a fit learns of rows, as ``environments_``, is in the order in which it read
    them.  A loader that shuffles gives another one to whoever reads it next.
    """
    if loader.drop_last:
        problem = "the loader leaves out the rows of its last batch (drop_last=True)"
        raise KerhrmError(problem, "make one with drop_last=False")
    if isinstance(loader.dataset, IterableDataset):
        return  # its order is its own
    sampler: Any = loader.batch_sampler
    if sampler is None:
        sampler = loader.sampler
    with torch.random.fork_rng(devices=[]):  # a sampler may draw a seed from it
        first, second = list(sampler), list(sampler)
    if first != second:
        problem = "the loader shuffles: its rows have another order in each pass"
        shuffles = isinstance(loader.sampler, RandomSampler)
        way = "with shuffle=False" if shuffles else "without its sampler"
        hint = f"make one {way}, so that results are in the order of its dataset"
        raise KerhrmError(problem, hint)


def _batches(loader: DataLoader[Any]) -> Any:
    """Batches of a loader, whose own failure is told in one line."""
    batches = iter(loader)
    number = 0
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except Exception as error:
            reason = " ".join(str(error).split())
            problem = f"batch {number} of the loader cannot be read: "
            problem += f"{type(error).__name__}: {reason}"
            raise KerhrmError(problem, "mend its dataset or its collate_fn") from error
        yield batch
        number += 1


def _points(batch: Any, number: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Points (b, d) and targets (b,) of a batch, if it has some."""
    x, y = batch, None
    if isinstance(batch, list | tuple):
        if len(batch) not in (1, 2):
            problem = f"batch {number} of the loader holds {len(batch)} parts"
            raise KerhrmError(problem, HINT)
        x, y = (*batch, None)[:2]
    if not isinstance(x, Tensor | np.ndarray) or x.ndim < 2:
        shape = getattr(x, "shape", None)
        kind = type(x).__name__ if shape is None else f"shape {tuple(shape)}"
        problem = f"batch {number} of the loader has no points (batch, d): got {kind}"
        raise KerhrmError(problem, HINT)
    points = np.asarray(plain(x, f"batch {number} of the loader"))
    points = points.reshape(len(points), -1)
    if y is None:
        return points, None
    target = np.asarray(plain(y, f"the targets of batch {number}"))
    if target.shape == (len(points), 1):
        target = target[:, 0]
    if target.shape != (len(points),):
        problem = f"batch {number} of the loader has {len(points)} points and targets "
        raise KerhrmError(f"{problem}of shape {target.shape}", HINT)
    return points, target
