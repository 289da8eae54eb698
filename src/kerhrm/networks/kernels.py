r"""Fast training of multilayer perceptrons on a CPU, in single precision.

Products of matrices go to oneDNN as convolutions where that is faster
(:mod:`kerhrm.networks.base`); points are cut into blocks of rows that fit into a
cache and leave out columns that are zero (:mod:`kerhrm.networks.blocks`); one hidden
layer has its derivatives written out (:func:`outputs`).

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

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kerhrm.networks.base import affine
from kerhrm.networks.blocks import Block

#: g where h > 0, else 0; in one pass
threshold_backward = torch.ops.aten.threshold_backward


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
