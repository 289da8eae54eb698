"""Points in blocks of rows, small enough for a cache, without columns that are zero in a block.

An image on one of two colour channels is zero on the other, and at its borders: with rows of
the same zeros together, a third of the entries is left.  A last column of ones goes with the bias.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from kerhrm.networks.products import ROWS, affine, cross

ENTRIES = 2**21  #: of the hidden layer in a block
LEAST = 512  #: rows that are worth a block of their own
SAVING = 0.1  #: of the entries of rows that a division in two has to save


@dataclass(frozen=True)
class Block:
    """Some of the points (x_i, 1), then rows of zeros up to a multiple of :data:`ROWS`.

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
        own = weight if self.columns is None else weight.index_select(1, self.columns)
        return affine(self.x, own)

    def cross(self, signal: Tensor, moments: Tensor) -> None:
        """Add (X, 1)^T G (d + 1, h), of G (m + zeros, h), to ``moments``."""
        product = cross(signal, self.x).T
        if self.columns is None:
            moments += product
        else:
            moments.index_add_(0, self.columns, product)

    def padded(self, values: Tensor) -> Tensor:
        """Of values (n,) those of the block, then zeros: (m + zeros,)."""
        return pad(values[self.rows], (0, len(self.x) - self.count))


def in_order(x: Tensor, width: int) -> list[Block]:
    """Points (n, d) in blocks for ``width`` hidden units, as they stand."""
    return [_block(x, slice(r, min(r + size, len(x))), None) for r, size in _steps(len(x), width)]


def by_zeros(x: Tensor, width: int) -> list[Block]:
    """Points (n, d) in blocks for ``width`` hidden units, rows with the same zeros together.

    Rows go by their first column that is not zero; they are divided in two where products then
    have the fewest entries, and so on as long as that saves enough.  For points without zeros
    this is :func:`in_order`.
    """
    used = x != 0
    first = torch.where(used.any(1), used.to(torch.uint8).argmax(1), x.shape[1])
    order = first.argsort(stable=True)
    parts = list(_divided(used[order]))
    if len(parts) == 1 and used.any(0).all():
        return in_order(x, width)
    found = []
    for part in parts:
        rows = order[part]
        columns = used[rows].any(0).nonzero().squeeze(1)
        for start, size in _steps(len(rows), width):
            found.append(_block(x, rows[start : start + size], columns))
    return found


def _divided(used: Tensor, first: int = 0) -> Iterator[slice]:
    """Rows (n, d) to consecutive slices of rows that use few columns."""
    n, some = len(used), used[:, used.any(0)].to(torch.uint8)
    if n >= 2 * LEAST:
        cuts = torch.arange(LEAST, n - LEAST + 1)
        first_rows, last_rows = some.argmax(0), n - 1 - some.flip(0).argmax(0)
        above = first_rows.bincount(minlength=n).cumsum(0)[cuts - 1]
        below = some.shape[1] - last_rows.bincount(minlength=n).cumsum(0)[cuts - 1]
        entries = cuts * above + (n - cuts) * below
        best = int(entries.argmin())
        if entries[best] < (1 - SAVING) * n * some.shape[1]:
            cut = int(cuts[best])
            yield from _divided(used[:cut], first)
            yield from _divided(used[cut:], first + cut)
            return
    yield slice(first, first + n)


def _steps(n: int, width: int) -> Iterator[tuple[int, int]]:
    size = max(ENTRIES // width // ROWS, 1) * ROWS
    return ((start, size) for start in range(0, n, size))


def _block(x: Tensor, rows: slice | Tensor, columns: Tensor | None) -> Block:
    own = x[rows]
    count, d = len(own), x.shape[1]
    if columns is not None:
        own, columns = own[:, columns], torch.cat([columns, columns.new_tensor([d])])
    own = torch.cat([own, own.new_ones(count, 1)], 1)
    return Block(rows, count, pad(own, (0, 0, 0, -count % ROWS)), columns)
