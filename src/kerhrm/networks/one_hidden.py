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

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from kerhrm.networks.products import affine, cross

ENTRIES = 2**21  #: of the hidden layer at a time, so that a large one is used while in the cache


def outputs(x: Tensor, weight: Tensor, bias: Tensor, out: Tensor, level: Tensor) -> Tensor:
    """f of points: x (n, d), W (h, d), b (h,), w (h,), c (1,) to (n,).

    Twice differentiable with respect to the parameters, not to x.
    """
    return _Outputs.apply(x, weight, bias, out, level)


def _rows(n: int, h: int) -> Iterator[slice]:
    size = max(ENTRIES // h // 16, 1) * 16
    return (slice(start, start + size) for start in range(0, n, size))


class _Outputs(torch.autograd.Function):
    """f, and the hidden layer in blocks of rows for :class:`_Gradient`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, out: Tensor, level: Tensor
    ) -> Tensor:
        f, hidden = x.new_empty(len(x)), []
        needed = any(ctx.needs_input_grad)
        for rows in _rows(len(x), len(out)):
            h = affine(x[rows], weight, bias).relu_()
            f[rows] = torch.addmv(level, h, out)
            if needed:
                hidden.append(h)
        ctx.hidden = hidden
        ctx.save_for_backward(x, weight, bias, out)
        return f

    @staticmethod
    def backward(ctx: Any, delta: Tensor) -> tuple[Tensor | None, ...]:
        return None, *_Gradient.apply(ctx.hidden, delta, *ctx.saved_tensors)


class _Gradient(torch.autograd.Function):
    """sum_i delta_i df_i/d(W, b, w, c)."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: list[Tensor],
        delta: Tensor,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        out: Tensor,
    ) -> tuple[Tensor, ...]:
        moments, masses = torch.zeros_like(weight), torch.zeros_like(bias)
        for rows, h in zip(_rows(len(x), len(out)), hidden, strict=True):
            signal = h.sign().mul_(delta[rows, None])  # comparisons are slow in PyTorch
            moments += cross(signal, x[rows])
            masses += x.new_ones(len(signal)) @ signal
        ctx.hidden = hidden
        ctx.save_for_backward(x, out, moments, masses)
        by_out = (weight * moments).sum(-1) + bias * masses
        return out[:, None] * moments, out * masses, by_out, delta.sum().unsqueeze(0)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, weight: Tensor, bias: Tensor, out: Tensor, level: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Along a direction of the parameters, whose parts the arguments are."""
        x, w, moments, masses = ctx.saved_tensors
        by_delta = x.new_empty(len(x))
        for rows, h in zip(_rows(len(x), len(w)), ctx.hidden, strict=True):
            change = affine(x[rows], weight, bias).mul_(h.sign())
            by_delta[rows] = torch.addmv(level, h, out).addmv_(change, w)
        by_w = (weight * moments).sum(-1) + bias * masses
        return None, by_delta, None, out[:, None] * moments, out * masses, by_w
