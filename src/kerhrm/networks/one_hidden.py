r"""The paper's network, one hidden layer, with its derivatives written out.

Of f_i = w^T relu(W x_i + b) + c, with the mask s_ij = [W_j x_i + b_j > 0] and a signal
delta_i = dL/df_i, everything that a step of training needs is in

.. math::
    M = (s \cdot \delta)^\top X, \qquad m = (s \cdot \delta)^\top 1:
    \qquad dL/dW = w \cdot M, \quad dL/db = w \cdot m, \quad
    dL/dw_j = W_j^\top M_j + b_j m_j .

Automatic differentiation reads and writes the n x h hidden layer twice as often, in arrays
that fill no cache.  The second derivative, which penalties of gradients need, is here as
well: with a direction (Gamma, beta, gamma, kappa) of the parameters

.. math::
    \frac{d}{d\delta_i} = \sum_j s_{ij} w_j (\Gamma_j x_i + \beta_j) + \gamma^\top h_i + \kappa,
    \quad \frac{d}{dW} = \gamma \cdot M, \quad \frac{d}{db} = \gamma \cdot m, \quad
    \frac{d}{dw_j} = \Gamma_j^\top M_j + \beta_j m_j .
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kerhrm.networks.blocks import Block

threshold_backward = torch.ops.aten.threshold_backward  #: g where h > 0, else 0; in one pass


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
            block.cross(threshold_backward(signal, h, 0), moments)
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


def _along(moments: Tensor, out: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    """w M, w m and W_j^T M_j + b_j m_j: (h, d + 1), (h,), (h, d), (h,)."""
    signals = out[:, None] * moments
    by_out = (weight * moments[:, :-1]).sum(-1) + bias * moments[:, -1]
    return signals[:, :-1], signals[:, -1], by_out
