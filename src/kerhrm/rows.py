"""Copies of a batch side by side: C option sets of B networks train as C B networks.

On a GPU they are one batch; on a CPU networks are trained one after the other anyway.
"""

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from kerhrm.sections import Section

Options = TypeVar("Options", bound=Section)


def copies(tensor: Tensor, times: int) -> Tensor:
    """The batch again and again along its leading axis: (B, ...) to (C B, ...)."""
    return tensor if times == 1 else tensor.repeat(times, *[1] * (tensor.ndim - 1))


def together(options: Sequence[Options], size: int) -> Options:
    """C option sets as one, of C B networks.

    An option in which they differ becomes a Tensor (C B,), float64: the first ``size`` = B values
    are those of the first set.  It has to be one of their class's ``per_network``.
    """
    first = options[0]
    values = {n: [getattr(o, n) for o in options] for n in sorted(first.per_network)}
    changes = {
        name: torch.tensor(each, dtype=torch.float64).repeat_interleave(size)
        for name, each in values.items()
        if len(set(each)) > 1
    }
    return first.model_copy(update=changes)


def again(options: Options, times: int) -> Options:
    """Options of B networks for C copies of them."""
    values = ((name, getattr(options, name)) for name in options.per_network)
    changes = {name: copies(value, times) for name, value in values if isinstance(value, Tensor)}
    return options.model_copy(update=changes)


def of_rows(value: float | Tensor, rows: slice, like: Tensor | None = None) -> float | Tensor:
    """An option of the networks in a slice: one for all, or (b,), of ``like``'s kind, for each."""
    if not isinstance(value, Tensor):
        return value
    return value[rows] if like is None else value[rows].to(like)
