r"""Fast training of multilayer perceptrons on a CPU, in single precision.

Products of matrices go to oneDNN as convolutions where that is faster (:func:`affine`,
:func:`cross`); points are cut into blocks of rows that fit into a cache and leave out
columns that are zero (:class:`Block`); one hidden layer has its derivatives written out
(:func:`outputs`).

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
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import conv2d, pad
from torch.nn.grad import conv2d_weight

ROWS = 16  #: become as many images: with fewer PyTorch keeps oneDNN out
ENTRIES = 2**21  #: of the hidden layer in a block
MIN_ROWS = 512  #: that are worth a block of their own
SAVING = 0.1  #: of the entries of rows that a division in two has to save

#: g where h > 0, else 0; in one pass
threshold_backward = torch.ops.aten.threshold_backward


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X W^T + b: (n, k), (m, k), (m,) to (n, m)."""
    if not _by_convolution(x):
        return x @ weight.T if bias is None else torch.addmm(bias, x, weight.T)
    images = conv2d(_images(x), weight[:, :, None, None], bias)
    return images.permute(0, 2, 3, 1).reshape(-1, len(weight))[: len(x)]


def cross(g: Tensor, x: Tensor) -> Tensor:
    """G^T X: (n, m), (n, k) to (m, k); no gradient."""
    if not _by_convolution(x):
        return (
            x.T @ g
        ).T  # faster than g.T @ x in MKL, which goes by the side with few columns
    shape = (g.shape[1], x.shape[1], 1, 1)
    return conv2d_weight(_images(x), shape, _images(g))[:, :, 0, 0]


def _by_convolution(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dtype == torch.float32 and convolutions_pay()


@cache
def convolutions_pay() -> bool:
    """True if a convolution with 1 x 1 kernels is faster than the same product of
    matrices.

    PyTorch hands products to MKL, which runs without AVX-512 on processors that are not
    Intel's, and is slow there where one side has ten columns: up to twenty times slower
    than oneDNN.
    """
    # Linux; elsewhere the processor is ARM, or unknown
    described = Path("/proc/cpuinfo")
    intel = described.exists() and "GenuineIntel" in described.read_text()
    return torch.backends.mkldnn.is_available() and not intel


def _images(x: Tensor) -> Tensor:
    """Rows (n, k) as the pixels of images (ROWS, k, n / ROWS, 1), zeros at the end."""
    if missing := -len(x) % ROWS:
        x = pad(x, (0, 0, 0, missing))
    return x.contiguous().view(ROWS, -1, 1, x.shape[1]).permute(0, 3, 1, 2)


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
        used = weight if self.columns is None else weight.index_select(1, self.columns)
        return affine(self.x, used)

    def add_cross(self, signal: Tensor, moments: Tensor) -> None:
        """Add (X, 1)^T G (d + 1, h), of G (m + zeros, h), to ``moments``."""
        product = cross(signal, self.x).T
        if self.columns is None:
            moments += product
        else:
            moments.index_add_(0, self.columns, product)

    def padded(self, values: Tensor) -> Tensor:
        """Take those of the block from values (n,), then zeros: (m + zeros,)."""
        return pad(values[self.rows], (0, len(self.x) - self.count))


def blocks(x: Tensor, width: int) -> list[Block]:
    """Points (n, d) in blocks for ``width`` hidden units, in their order."""
    return [
        _block(x, slice(r, min(r + size, len(x))), None)
        for r, size in _steps(len(x), width)
    ]


def blocks_by_zeros(x: Tensor, width: int) -> list[Block]:
    """Points (n, d) in blocks for ``width`` hidden units, rows with the same zeros
    together.

    An image on one of two colour channels is zero on the other, and at its borders: a
    third of the entries is left.  Rows go by their first column that is not zero; they
    are divided in two where products then have the fewest entries, and so on as long as
    that saves enough.  For points without zeros this is :func:`blocks`.
    """
    used = x != 0
    first = torch.where(used.any(1), used.to(torch.uint8).argmax(1), x.shape[1])
    order = first.argsort(stable=True)
    parts = list(_divided(used[order]))
    if len(parts) == 1 and used.any(0).all():
        return blocks(x, width)
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
    if n >= 2 * MIN_ROWS:
        cuts = torch.arange(MIN_ROWS, n - MIN_ROWS + 1)
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
    points = x[rows]
    count, d = len(points), x.shape[1]
    if columns is not None:
        points, columns = (
            points[:, columns],
            torch.cat([columns, columns.new_tensor([d])]),
        )
    points = torch.cat([points, points.new_ones(count, 1)], 1)
    return Block(rows, count, pad(points, (0, 0, 0, -count % ROWS)), columns)


def deep_outputs(
    points: Sequence[Block], layers: Sequence[tuple[Tensor, Tensor]]
) -> Tensor:
    """f (n,) of two hidden layers or more, by automatic differentiation."""
    (weight, bias), *middle, (out, level) = layers
    first, f = _joined(weight, bias), _empty(points, weight)
    for block in points:
        h = block.times(first).relu_()
        for weight, bias in middle:
            h = affine(h, weight, bias).relu_()
        f[block.rows] = torch.addmv(level, h[: block.count], out[0])
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
        f, hidden = _empty(points, out), []
        weights = _joined(weight, bias)
        needed = any(ctx.needs_input_grad)
        for block in points:
            h = block.times(weights).relu_()
            f[block.rows] = torch.addmv(level, h[: block.count], out)
            if needed:
                hidden.append(h)
        ctx.points, ctx.hidden = points, hidden
        ctx.save_for_backward(weight, bias, out)
        return f

    @staticmethod
    def backward(ctx: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        return None, *_Gradient.apply(ctx.points, ctx.hidden, delta, *ctx.saved_tensors)


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
        moments = weight.new_zeros(weight.shape[1] + 1, len(weight))  # (M, m)^T
        for block, h in zip(points, hidden, strict=True):
            signal = block.padded(delta)[:, None].expand_as(h)
            block.add_cross(threshold_backward(signal, h, 0), moments)
        moments = moments.T
        ctx.points, ctx.hidden = points, hidden
        ctx.save_for_backward(out, moments)
        return *_along(moments, out, weight, bias), delta.sum().unsqueeze(0)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, weight: Tensor, bias: Tensor, out: Tensor, level: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Along a direction of the parameters, whose parts the arguments are."""
        w, moments = ctx.saved_tensors
        by_delta, weights = _empty(ctx.points, w), _joined(weight, bias)
        for block, h in zip(ctx.points, ctx.hidden, strict=True):
            change = threshold_backward(block.times(weights), h, 0)
            along = torch.addmv(level, h, out).addmv_(change, w)
            by_delta[block.rows] = along[: block.count]
        by_weight, by_bias, by_w = _along(moments, out, weight, bias)
        return None, None, by_delta, by_weight, by_bias, by_w


def _empty(points: Sequence[Block], like: Tensor) -> Tensor:
    return like.new_empty(sum(block.count for block in points))


def _joined(weight: Tensor, bias: Tensor) -> Tensor:
    return torch.cat([weight, bias[:, None]], 1)


def _along(
    moments: Tensor, out: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor, ...]:
    """w M, w m and W_j^T M_j + b_j m_j: (h, d + 1), (h,), (h, d), (h,)."""
    signals = out[:, None] * moments
    by_out = (weight * moments[:, :-1]).sum(-1) + bias * moments[:, -1]
    return signals[:, :-1], signals[:, -1], by_out
