r"""Fast training of multilayer perceptrons on a CPU, in single precision.

Products of matrices go to oneDNN as convolutions where that is faster
(:mod:`kerhrm.networks.base`); points are cut into blocks of rows that fit into a
cache and leave out columns that are zero (:class:`Block`); one hidden layer has its
derivatives written out (:func:`outputs`).

Of f_i = w^T relu(W x_i + b) + c, with the mask s_ij = [W_j x_i + b_j > 0] and a signal
delta_i = dL/df_i, everything that a step of training needs is in

.. math::
    M = (s \cdot \delta)^\top X, \qquad m = (s \cdot \delta)^\top 1:
    \qquad dL/dW = w \cdot M, \quad dL/db = w \cdot m, \quad
    dL/dw_j = W_j^\top M_j + b_j m_j .

Automatic differentiation reads and writes the n x h hidden layer twice as often, in
arrays that fill no cache.  Penalties of gradients need the second derivative as well:
with a direction (Gamma, beta, gamma, kappa) of the parameters

.. math::
    \frac{d}{d\delta_i} = \sum_j s_{ij} w_j (\Gamma_j x_i + \beta_j) + \gamma^\top h_i +
    \kappa, \quad \frac{d}{dW} = \gamma \cdot M, \quad \frac{d}{db} = \gamma \cdot m,
    \quad \frac{d}{dw_j} = \Gamma_j^\top M_j + \beta_j m_j .
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from kerhrm.networks.base import (
    ROWS,
    affine,
    cross,
)

ENTRIES = 2**21  #: of the hidden layer in a block
MIN_ROWS = 512  #: that are worth a block of their own
SAVING = 0.1  #: of the entries of rows that a division in two has to save

#: g where h > 0, else 0; in one pass
threshold_backward = torch.ops.aten.threshold_backward


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


def deep_outputs(
    points: Sequence[Block], layers: Sequence[tuple[Tensor, Tensor]]
) -> Tensor:
    """f (n,) of two hidden layers or more, by automatic differentiation."""
    first_layer, *middle, last_layer = layers
    weight, bias = first_layer
    out, level = last_layer
    first = joined_layer(weight, bias)
    f = _empty(points, weight)
    for block in points:
        h = block.times(first).relu_()
        for weight, bias in middle:
            h = affine(h, weight, bias).relu_()
        without_zeros = h[: block.count]
        weight_of_output = out[0]
        f[block.rows] = torch.addmv(level, without_zeros, weight_of_output)
    return f


def outputs(
    points: Sequence[Block], weight: Tensor, bias: Tensor, out: Tensor, level: Tensor
) -> Tensor:
    """f of n points in blocks of (rows, d), by W (h, d), b (h,), w (h,), c (1,): (n,).

    Twice differentiable with respect to the parameters, not to the points.
    """
    return _Outputs.apply(points, weight, bias, out, level)


class _Outputs(torch.autograd.Function):
    """f, and the hidden layer in blocks for :class:`_Gradient`."""

    @staticmethod
    def forward(
        ctx: Any,
        points: Sequence[Block],
        weight: Tensor,
        bias: Tensor,
        out: Tensor,
        level: Tensor,
    ) -> Tensor:
        f = _empty(points, out)
        joined = joined_layer(weight, bias)
        needed = any(ctx.needs_input_grad)
        hidden = []
        for block in points:
            h = block.times(joined).relu_()
            without_zeros = h[: block.count]
            f[block.rows] = torch.addmv(level, without_zeros, out)
            if needed:
                hidden.append(h)
        ctx.points = points
        ctx.hidden = hidden
        ctx.save_for_backward(weight, bias, out)
        return f

    @staticmethod
    def backward(ctx: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        weight, bias, out = ctx.saved_tensors
        gradients = _Gradient.apply(ctx.points, ctx.hidden, delta, weight, bias, out)
        return None, *gradients


class _Gradient(torch.autograd.Function):
    """sum_i delta_i df_i/d(W, b, w, c)."""

    @staticmethod
    def forward(
        ctx: Any,
        points: Sequence[Block],
        hidden: list[Tensor],
        delta: Tensor,
        weight: Tensor,
        bias: Tensor,
        out: Tensor,
    ) -> tuple[Tensor, ...]:
        width, d = weight.shape
        transposed = weight.new_zeros(d + 1, width)  # (M, m)^T
        for block, h in zip(points, hidden, strict=True):
            of_points = block.padded(delta)
            signal = of_points[:, None].expand_as(h)
            masked = threshold_backward(signal, h, 0)
            block.add_cross(masked, transposed)
        moments = transposed.T
        ctx.points = points
        ctx.hidden = hidden
        ctx.save_for_backward(out, moments)
        by_level = delta.sum().unsqueeze(0)
        return *_along(moments, out, weight, bias), by_level

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, weight: Tensor, bias: Tensor, out: Tensor, level: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Along a direction of the parameters, whose parts the arguments are."""
        w, moments = ctx.saved_tensors
        by_delta = _empty(ctx.points, w)
        joined = joined_layer(weight, bias)
        for block, h in zip(ctx.points, ctx.hidden, strict=True):
            product = block.times(joined)
            change = threshold_backward(product, h, 0)
            along = torch.addmv(level, h, out)
            along.addmv_(change, w)
            by_delta[block.rows] = along[: block.count]
        by_weight, by_bias, by_w = _along(moments, out, weight, bias)
        return None, None, by_delta, by_weight, by_bias, by_w


def _empty(points: Sequence[Block], like: Tensor) -> Tensor:
    n = sum(block.count for block in points)
    return like.new_empty(n)


def joined_layer(weight: Tensor, bias: Tensor) -> Tensor:
    """(W, b): (h, d), (h,) to (h, d + 1)."""
    bias_column = bias[:, None]
    return torch.cat([weight, bias_column], 1)


def _along(
    moments: Tensor, out: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor, ...]:
    """w M, w m and W_j^T M_j + b_j m_j: (h, d + 1), (h,), (h, d), (h,)."""
    signals = out[:, None] * moments
    by_weight = signals[:, :-1]
    by_bias = signals[:, -1]
    of_inputs = moments[:, :-1]
    of_ones = moments[:, -1]
    products = weight * of_inputs
    inner = products.sum(-1)
    by_out = inner + bias * of_ones
    return by_weight, by_bias, by_out
