"""Data loaders of PyTorch as tables: their batches are read once, in order."""

import contextlib
import itertools
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from kerhrm.errors import InputTypeError, KerhrmError, shown
from kerhrm.tables.arrays import family, without_masks

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
        problem = "X is a loader, and y is given, too"
        hint = "let the loader give batches (x, y), and leave y out; or give X as an"
        raise KerhrmError(problem, f"{hint} array")
    _check_order(X)
    with _states_kept(X):
        return _read(X, needs_y)


def refuse_others(X: Any) -> None:
    """Refuse what only leads to a table: a path, a loader in a list, batches."""
    what = "X must be a table or a loader"
    if isinstance(X, str | os.PathLike):
        hint = "give np.load(path), or kerhrm.check.read_table(path) of a CSV file"
        raise KerhrmError(f"{what}; got the path {shown(X)}", hint)
    if isinstance(X, list | tuple) and any(isinstance(part, LOADERS) for part in X):
        problem = f"{what}; got a list with a loader in it"
        raise KerhrmError(problem, "give the loader itself")
    hint = "give a DataLoader, or one array: np.concatenate of the batches' rows"
    if isinstance(X, Iterator):
        raise InputTypeError(f"{what}; got a {type(X).__name__}", hint)
    if isinstance(X, list | tuple) and X and isinstance(X[0], list | tuple):
        dimensions = [getattr(part, "ndim", 0) for part in X[0]]
        if dimensions and dimensions[0] > 1:
            raise KerhrmError(f"{what}; got a list of batches", hint)


def _read(
    loader: DataLoader[Any], needs_y: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows and targets of all batches."""
    rows: list[np.ndarray] = []
    targets: list[np.ndarray | None] = []
    n_first = 0
    for number, batch in enumerate(_batches(loader)):
        x, target = _points(batch, number)
        _, n_columns = x.shape
        if not rows:
            n_first = n_columns
        if n_columns != n_first:
            problem = f"batch {number} of the loader has {n_columns} columns"
            problem += f", and the first one {n_first}"
            raise KerhrmError(problem, "give points of one shape")
        if targets and not _alike(target, targets[0]):
            problem = f"batch {number} of the loader has targets of another kind than "
            raise KerhrmError(f"{problem}the first one", "give all of one kind")
        rows.append(x)
        targets.append(target)
    if not rows:
        raise KerhrmError("the loader has no batches", "give a loader with rows")
    x = np.concatenate(rows)
    known = [target for target in targets if target is not None]
    if len(known) == len(rows):
        return x, np.concatenate(known)
    if needs_y:
        without = next(i for i, target in enumerate(targets) if target is None)
        raise KerhrmError(f"batch {without} of the loader has no targets", HINT)
    return x, None


def _check_order(loader: DataLoader[Any]) -> None:
    """Refuse a loader that does not give each row of its dataset once, in its order.

    What a fit learns of rows, as ``environments_``, is in the order in which it read
    them.  A loader that shuffles gives another one to whoever reads it next.
    """
    if loader.drop_last:
        problem = "the loader leaves out the rows of its last batch (drop_last=True)"
        raise KerhrmError(problem, "make one with drop_last=False")
    if isinstance(loader.dataset, IterableDataset):
        if loader.num_workers > 1:
            problem = f"{loader.num_workers} workers give each row of a stream, or mix "
            problem += "their order"
            raise KerhrmError(problem, "make the loader with num_workers=0")
        return  # its order is its own
    inner = getattr(loader.batch_sampler, "sampler", None)
    for sampler in (loader.sampler, loader.batch_sampler, inner):
        if isinstance(sampler, RandomSampler):
            problem = "the loader shuffles: its rows have another order in each pass"
            hint = "make one with shuffle=False, so that results are in the order of "
            raise KerhrmError(problem, f"{hint}its dataset")
        if isinstance(sampler, SubsetRandomSampler | WeightedRandomSampler):
            raise _sampled(type(sampler).__name__)
    sampler = loader.sampler
    own_batches = type(loader.batch_sampler) not in (BatchSampler, type(None))
    if own_batches or not isinstance(sampler, SequentialSampler):
        _check_sampler(loader, own_batches)


def _check_sampler(loader: DataLoader[Any], own_batches: bool) -> None:
    """Refuse a sampler of one's own, of rows or of batches, that gives other rows than
    0, 1, ..."""
    sampler: Any = loader.batch_sampler if own_batches else loader.sampler
    name = type(sampler).__name__
    try:
        n = len(loader.dataset)  # type: ignore[arg-type]
        with _states_kept(loader):
            indices = list(itertools.islice(sampler, n + 1))
    except Exception as error:
        raise _sampled(name) from error
    if own_batches:
        indices = list(itertools.chain(*indices))
    in_order = list(range(n))
    if indices != in_order:
        raise _sampled(name)


def _sampled(name: str) -> KerhrmError:
    """Error for a sampler that does not give every row once, in order."""
    problem = f"the loader's {name} does not give each row of the dataset once, in its "
    hint = "make one without a sampler; of some rows, of a Subset of the dataset"
    return KerhrmError(f"{problem}order", hint)


@contextlib.contextmanager
def _states_kept(loader: DataLoader[Any]) -> Iterator[None]:
    """Put back the generators that a pass draws from."""
    of_sampler = getattr(loader.sampler, "generator", None)
    generators = []
    for generator in (loader.generator, of_sampler):
        if isinstance(generator, torch.Generator):
            generators.append(generator)
    states = [generator.get_state() for generator in generators]
    numpy_state = np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        np.random.set_state(numpy_state)
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


def _alike(target: np.ndarray | None, first: np.ndarray | None) -> bool:
    """Whether targets of two batches are of one kind: numbers, or text."""
    if target is None or first is None:
        return True
    return family(target.dtype) == family(first.dtype)


def _batches(loader: DataLoader[Any]) -> Any:
    """Batches of a loader, whose own failure is told in one line."""
    batches = None
    number = 0
    while True:
        try:
            if batches is None:
                batches = iter(loader)
            batch = next(batches)
        except StopIteration:
            return
        except Exception as error:
            reason = str(error).strip()
            if "Traceback" in reason:  # of a worker process; ends with the error's line
                *_, reason = reason.splitlines()
            reason = " ".join(reason.split())
            problem = f"batch {number} of the loader cannot be read: "
            problem += f"{type(error).__name__}: {reason}"
            raise KerhrmError(problem, "mend its dataset or its collate_fn") from error
        yield batch
        number += 1


def _points(batch: Any, number: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Points (b, d) and targets (b,) of a batch, if it has some."""
    where = f"batch {number} of the loader"
    x = batch
    y = None
    if isinstance(batch, list | tuple):
        n_parts = len(batch)
        if n_parts not in (1, 2):
            raise KerhrmError(f"{where} holds {n_parts} parts", HINT)
        x = batch[0]
        if n_parts == 2:
            y = batch[1]
    if not isinstance(x, Tensor | np.ndarray) or x.ndim < 2:
        shape = getattr(x, "shape", None)
        kind = type(x).__name__
        if shape is not None:
            kind = f"shape {tuple(shape)}"
        problem = f"{where} has no points (batch, d): got {kind}"
        raise KerhrmError(problem, HINT)
    array = np.asarray(without_masks(x, where))
    n, *point_shape = array.shape
    points = array.reshape(n, math.prod(point_shape))
    if y is None:
        return points, None
    target = np.asarray(without_masks(y, f"the targets of batch {number}"))
    if target.shape == (n, 1):
        target = target[:, 0]
    if target.shape != (n,):
        problem = f"{where} has {n} points and targets of shape {target.shape}"
        raise KerhrmError(problem, HINT)
    return points, target
