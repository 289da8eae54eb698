"""Points in blocks of rows that fit into a cache and leave out columns that are zero.

:mod:`kerhrm.networks.kernels` trains perceptrons on them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from kerhrm.networks.base import (
    ROWS,
    affine,
    cross,
)

ENTRIES = 2**21  #: of the hidden layer in a block
MIN_ROWS = 512  #: that are worth a block of their own
SAVING = 0.1  #: of the entries of rows that a division in two has to save


@dataclass(frozen=True)
class Block:
    """Some of the points (x_i, 1), then rows of zeros.

    Rows are a multiple of :data:`~kerhrm.networks.base.ROWS`.

    Attributes
    ----------
    rows : slice, or Tensor (m,), int64
        Which points.
    count : int
        m.
    x : Tensor, (m + zeros, c)
        Their columns that are not zero in all of them, and the ones.
    columns : Tensor (c,), int64, or None
        Which columns of (x, 1); None: all of them.
    """

    rows: slice | Tensor
    count: int
    x: Tensor
    columns: Tensor | None

    def times(self, weight: Tensor) -> Tensor:
        """(X, 1) (W, b)^T: (h, d + 1) to (m + zeros, h)."""
        if self.columns is not None:
            weight = weight.index_select(1, self.columns)
        return affine(self.x, weight)

    def add_cross(self, signal: Tensor, moments: Tensor) -> None:
        """Add (X, 1)^T G (d + 1, h), of G (m + zeros, h), to ``moments``."""
        product = cross(signal, self.x).T
        if self.columns is None:
            moments += product
        else:
            moments.index_add_(0, self.columns, product)

    def padded(self, of_points: Tensor) -> Tensor:
        """Take those of the block from numbers (n,), then zeros: (m + zeros,)."""
        n_zeros = len(self.x) - self.count
        of_rows = of_points[self.rows]
        return pad(of_rows, (0, n_zeros))


def blocks(x: Tensor, width: int) -> list[Block]:
    """Points (n, d) in blocks for ``width`` hidden units, in their order."""
    n = len(x)
    slices = []
    for start, size in _steps(n, width):
        stop = min(start + size, n)
        slices.append(slice(start, stop))
    return [_block(x, rows, columns=None) for rows in slices]


def blocks_by_zeros(x: Tensor, width: int) -> list[Block]:
    """Points (n, d) in blocks for ``width`` hidden units, rows with the same zeros
    together.

    An image on one of two colour channels is zero on the other, and at its borders: a
    third of the entries is left.  Rows go by their first column that is not zero; they
    are divided in two where products then have the fewest entries, and so on as long as
    that saves enough.  For points without zeros this is :func:`blocks`.
    """
    _, d = x.shape
    used = x != 0
    first_used = used.to(torch.uint8).argmax(1)
    has_entries = used.any(1)
    first_used = torch.where(has_entries, first_used, d)
    order = first_used.argsort(stable=True)
    divisions = list(_divided(used[order]))
    used_anywhere = used.any(0)
    all_used = used_anywhere.all()
    if all_used and len(divisions) == 1:
        return blocks(x, width)
    alike = []
    for division in divisions:
        rows = order[division]
        used_here = used[rows].any(0)
        numbers = used_here.nonzero()
        columns = numbers.squeeze(1)
        for start, size in _steps(len(rows), width):
            rows_of_block = rows[start : start + size]
            alike.append(_block(x, rows_of_block, columns))
    return alike


def _divided(used: Tensor, first: int = 0) -> Iterator[slice]:
    """Rows (n, d) to consecutive slices of rows that use few columns."""
    n = len(used)
    cut = _best_cut(used)
    if cut is None:
        yield slice(first, first + n)
        return
    yield from _divided(used[:cut], first)
    yield from _divided(used[cut:], first + cut)


def _best_cut(used: Tensor) -> int | None:
    """Row at which a division of rows (n, d) leaves the fewest entries; None if it does
    not save enough."""
    n = len(used)
    if n < 2 * MIN_ROWS:
        return None
    used_at_all = used.any(0)
    used_columns = used[:, used_at_all]
    some = used_columns.to(torch.uint8)
    _, n_columns = some.shape
    cuts = torch.arange(MIN_ROWS, n - MIN_ROWS + 1)
    first_rows = some.argmax(0)
    reversed_rows = some.flip(0)
    rows_after_last = reversed_rows.argmax(0)
    last_rows = n - 1 - rows_after_last
    firsts = first_rows.bincount(minlength=n)
    begun = firsts.cumsum(0)
    lasts = last_rows.bincount(minlength=n)
    ended = lasts.cumsum(0)
    columns_above = begun[cuts - 1]
    ended_above = ended[cuts - 1]
    columns_below = n_columns - ended_above
    entries_above = cuts * columns_above
    rows_below = n - cuts
    entries_below = rows_below * columns_below
    entries = entries_above + entries_below
    best = int(entries.argmin())
    most = (1 - SAVING) * n * n_columns
    if entries[best] < most:
        return int(cuts[best])
    return None


def _steps(n: int, width: int) -> Iterator[tuple[int, int]]:
    """First row of every block of n, and how many it may have."""
    n_rows = ENTRIES // width
    n_images = max(n_rows // ROWS, 1)
    size = n_images * ROWS
    for start in range(0, n, size):
        yield start, size


def _block(x: Tensor, rows: slice | Tensor, columns: Tensor | None) -> Block:
    _, d = x.shape
    points = x[rows]
    count = len(points)
    if columns is not None:
        points = points[:, columns]
        column_of_ones = columns.new_tensor([d])
        columns = torch.cat([columns, column_of_ones])
    ones = points.new_ones(count, 1)
    points = torch.cat([points, ones], 1)
    n_zeros = -count % ROWS
    padded = pad(points, (0, 0, 0, n_zeros))
    return Block(rows, count, padded, columns)
