"""A user's table as the library's samples: in units, in a canonical order, and split.

Rows are sorted by their values before anything is drawn, so that a fit does not depend on
the order that they come in, and a row of weight 2 is the same as two rows.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from kerhrm.data.dataset import Task
from kerhrm.data.samples import Samples
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Units:
    """What inputs and targets are measured in: of the training rows mean 0 and deviation 1.

    Labels become -1 and +1, by ``classes``; a column that is constant becomes 0.

    Attributes
    ----------
    centre, scale : ndarray, (d,), float64
    level, spread : float
        Of the target; 0 and 1 in classification.
    classes : ndarray, (2,), or None
        Sorted; None in regression.
    """

    centre: np.ndarray
    scale: np.ndarray
    level: float = 0.0
    spread: float = 1.0
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray, task: Task) -> Self:
        """Of training rows x (n, d) and targets y (n,)."""
        scaler = StandardScaler().fit(x)
        scaler.scale_[np.ptp(x, axis=0) == 0] = 1.0
        if task == "classification":
            return cls(scaler.mean_, scaler.scale_, classes=np.unique(y))
        return cls(scaler.mean_, scaler.scale_, float(y.mean()), float(y.std()) or 1.0)

    def inputs(self, x: np.ndarray) -> Tensor:
        """(m, d), float32."""
        return torch.from_numpy(((x - self.centre) / self.scale).astype(np.float32))

    def target(self, y: np.ndarray) -> Tensor:
        """(m,), float32.

        Raises
        ------
        KerhrmError
            If a label is neither of the classes.
        """
        if self.classes is None:
            return torch.from_numpy(((y - self.level) / self.spread).astype(np.float32))
        if not (known := np.isin(y, self.classes)).all():
            problem = f"label {y[~known].tolist()[0]!r} was not among those of the fit"
            raise KerhrmError(problem, "known are {!r} and {!r}".format(*self.classes.tolist()))
        return torch.from_numpy(np.where(y == self.classes[1], 1.0, -1.0).astype(np.float32))


def prepare(
    rows: Rows,
    held_out: Rows | None,
    counts: np.ndarray | None,
    task: Task,
    *,
    fraction: float,
    seed: int,
    environment: np.ndarray | None = None,
) -> tuple[Units, Samples, np.ndarray]:
    """Units, the samples of one replicate, and which of the rows these are.

    The last, int64, goes through the training points and then those that validate, unless they
    are ``held_out``.

    Parameters
    ----------
    rows, held_out : (n, d) and (n,), as :mod:`kerhrm.estimators.inputs` leaves them
        Without ``held_out`` a ``fraction`` of the rows validates, drawn by ``seed``, from all
        classes alike.
    counts : ndarray, (n,), int64, optional
        How often rows count.
    environment : ndarray, (n,), int64, optional

    Raises
    ------
    KerhrmError
        If too few rows are left.
    """
    x, y = rows
    labels = np.zeros(len(y), dtype=np.int64) if environment is None else environment
    origin = np.arange(len(y))
    if counts is not None:
        x, y, labels, origin = (np.repeat(a, counts, axis=0) for a in (x, y, labels, origin))
    if len(y) < 3:
        problem = f"n_samples={len(y)} rows are too few to train and validate on"
        raise KerhrmError(problem, "give 3 or more")
    order = np.lexsort((y, *x.T))
    x, y, labels, origin = x[order], y[order], labels[order], origin[order]
    if held_out is None:
        classes = np.unique(y, return_inverse=True)[1] if task == "classification" else None
        train, validation = split(len(y), fraction, seed, classes)
        held_out = x[validation], y[validation]
        x, y, labels = x[train], y[train], labels[train]
        origin = np.concatenate([origin[train], origin[validation]])
    if task == "classification" and len(np.unique(y)) < 2:
        raise KerhrmError("the training rows have only one class", "give rows of a second one")
    units = Units.of(x, y, task)
    samples = Samples(
        x=units.inputs(x)[None],
        y=units.target(y)[None],
        x_validation=units.inputs(held_out[0])[None],
        y_validation=units.target(held_out[1])[None],
        environment=None if environment is None else torch.from_numpy(labels)[None],
        seeds=[seed],
        task=task,
    )
    return units, samples, origin


def split(n: int, fraction: float, seed: int, classes: np.ndarray | None) -> Rows:
    """Rows that train and rows that validate, one or more; ascending.

    Classes 0, 1, ... of the rows (n,) keep their shares, or, where there are too few of one, at
    least one row that trains.

    Raises
    ------
    KerhrmError
        If the fraction is not between 0 and 1.
    """
    if not 0 < fraction < 1:
        problem = f"validation_fraction={fraction} is not between 0 and 1"
        raise KerhrmError(problem, "take 0.2, say, or give validation=(X, y) to fit")
    random = stream(seed, "validation")
    size = min(max(1, round(fraction * n)), n - 2)
    if classes is None:
        taken = random.permutation(n)[:size]
    elif min(np.bincount(classes)) >= 2 and size >= 2 and n - size >= 2:
        number = int(random.integers(2**31))
        _, taken = train_test_split(
            np.arange(n), test_size=size, stratify=classes, random_state=number
        )
    else:
        order = random.permutation(n)
        _, first = np.unique(classes[order], return_index=True)
        taken = np.delete(order, first)[:size]
    validates = np.zeros(n, dtype=bool)
    validates[taken] = True
    return np.flatnonzero(~validates), np.flatnonzero(validates)
