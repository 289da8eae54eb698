r"""Perceptrons with several outputs, *heads* on shared hidden layers.

On a CPU one hidden layer has its derivatives written out, as in
:mod:`kerhrm.networks.kernels`: of F = relu(X W^T + b) V^T + c with K columns, a signal
Delta = dL/dF (n, K) and the mask s of the hidden units that are on,

.. math::
    dL/d(W, b) = (s \cdot \Delta V)^\top (X, 1), \qquad
    dL/dV = \Delta^\top H, \qquad dL/dc = \Delta^\top 1 .
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from kerhrm.networks.base import affine, cross
from kerhrm.networks.blocks import Block, blocks_by_zeros
from kerhrm.networks.build import MLP, activations, kernels_take
from kerhrm.networks.kernels import joined_layer, threshold_backward


def head_outputs(network: MLP, x: Tensor) -> Tensor:
    """Outputs of every head of a network at points (n, d): (n, K)."""
    *_, outputs = activations(network.layers, x)
    return outputs


def heads_at(network: MLP, x: Tensor) -> Callable[[MLP], Tensor]:
    """Outputs of every head at fixed points, as a function of the network.

    Equal to :func:`head_outputs` up to rounding, and once differentiable.

    Parameters
    ----------
    network : MLP
        Of these widths are the networks to come.
    x : Tensor, (n, d)
        Points.

    Returns
    -------
    callable
        Of a network to a tensor (n, K).
    """
    one_hidden_layer = len(network.layers) == 2
    if not (one_hidden_layer and kernels_take(x)):
        return lambda trained: head_outputs(trained, x)
    width = len(network.weights["bias_0"])
    points = blocks_by_zeros(x, width)

    def outputs(trained: MLP) -> Tensor:
        hidden_layer, heads = trained.layers
        return _Heads.apply(points, *hidden_layer, *heads)

    return outputs


class _Heads(torch.autograd.Function):
    """F (n, K) of points in blocks, by W (h, d), b (h,), V (K, h) and c (K,)."""

    @staticmethod
    def forward(
        ctx: Any,
        points: Sequence[Block],
        weight: Tensor,
        bias: Tensor,
        out: Tensor,
        levels: Tensor,
    ) -> Tensor:
        n = sum(block.count for block in points)
        f = out.new_empty(n, len(out))
        joined = joined_layer(weight, bias)
        hidden = []
        for block in points:
            h = block.times(joined).relu_()
            of_block = affine(h, out, levels)
            f[block.rows] = of_block[: block.count]
            hidden.append(h)
        ctx.points = points
        ctx.hidden = hidden
        ctx.save_for_backward(weight, out)
        return f

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        weight, out = ctx.saved_tensors
        width, d = weight.shape
        transposed = weight.new_zeros(d + 1, width)
        by_out = torch.zeros_like(out)
        out_by_unit = out.T.contiguous()
        for block, h in zip(ctx.points, ctx.hidden, strict=True):
            n_zeros = len(block.x) - block.count
            of_rows = delta[block.rows]
            signal = pad(of_rows, (0, 0, 0, n_zeros))
            by_hidden = affine(signal, out_by_unit)
            # in place: no second copy of the largest array
            masked = threshold_backward(by_hidden, h, 0, grad_input=by_hidden)
            block.add_cross(masked, transposed)
            by_out += cross(h, signal).T
        moments = transposed.T
        return None, moments[:, :-1], moments[:, -1], by_out, delta.sum(0)
