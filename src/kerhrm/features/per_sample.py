"""Neural tangent features of any ``torch.nn.Module`` with scalar output.

The factored form of :mod:`kerhrm.features.ntf` needs a plain MLP.  Here the gradient
phi(x) = grad_w f_{w_0}(x) of every point is taken by automatic differentiation, so
convolutions, normalisation in evaluation mode, shared weights and the like all work.
The n x p matrix Phi is not formed either: the kernel is a sum over blocks b of parameters,

    kappa(x, x') = phi(x)^T phi(x') = sum_b phi_b(x)^T phi_b(x'),

and one block is held at a time.  The price is time: one forward and backward pass a block.

These functions take *one* module; results have no leading axis for the seeds.
``torch.stack`` the results of B modules where (B, n, n') is wanted.

Source: Novak et al. 2022, "Fast finite width neural tangent kernel" (Jacobian
contraction); paper, section 3.1 (the features).
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from kerhrm.errors import KerhrmError

BLOCK_SIZE = 2**14  # float64, n = 5000: 0.7 GB
CHUNK_SIZE = 128

Block = list[tuple[str, int, int]]  # (parameter, start, stop) in its flattened entries


@torch.no_grad()  # of the graph around; torch.func.grad differentiates all the same
def gram(
    module: nn.Module,
    x: Tensor,
    x2: Tensor | None = None,
    *,
    block_size: int = BLOCK_SIZE,
    chunk_size: int = CHUNK_SIZE,
    dtype: torch.dtype | None = torch.float64,
) -> Tensor:
    """Empirical neural tangent kernel Phi(X) Phi(X')^T at the module's parameters.

    Parameters
    ----------
    module : nn.Module
        Maps (n, ...) to (n,) or (n, 1), every point for itself.
    x, x2 : Tensor, (n, ...) and (n', ...)
        Inputs, with the dtype and device of the module; x2 defaults to x.
    block_size : int
        Parameters per block: (n + n') * block_size entries of Phi are held at once
        (n * block_size without x2).  A larger parameter tensor is cut.
    chunk_size : int
        Points differentiated at once; lowered where their gradients, whole tensors at
        first, would outgrow the block (but to no less than one point).
    dtype : torch.dtype, optional
        Precision of the products and sums; None for the module's own.

    Returns
    -------
    Tensor, (n, n')

    Raises
    ------
    KerhrmError
        If the output is not one number a point, or depends on the other points or on chance.
    """
    _check(module, x)
    dtype = dtype or _dtype(module)
    total = x.new_zeros((len(x), len(x if x2 is None else x2)), dtype=dtype)
    for block in _blocks(module, block_size):
        left = _gradients(module, x, block, chunk_size, dtype)
        right = left if x2 is None else _gradients(module, x2, block, chunk_size, dtype)
        total.addmm_(left, right.mT)
        del left, right  # or they would live on while the next block is made
    return total


@torch.no_grad()
def rows(
    module: nn.Module,
    x: Tensor,
    index: slice | Tensor = slice(None),
    *,
    chunk_size: int = CHUNK_SIZE,
) -> Tensor:
    """Rows of Phi, explicitly: one gradient per point of ``x[index]``; for small cases.

    Returns
    -------
    Tensor, (m, p)
        Columns in the order of ``module.parameters()``, whether or not they require a
        gradient; the module's dtype.

    Raises
    ------
    KerhrmError
        As :func:`gram`.
    """
    _check(module, x)
    (everything,) = _blocks(module, sum(w.numel() for w in module.parameters()))
    return _gradients(module, x[index], everything, chunk_size, _dtype(module))


@torch.no_grad()
def predict(module: nn.Module, x: Tensor, *, chunk_size: int = CHUNK_SIZE) -> Tensor:
    """f_{w_0}(x), the offset that is kept in every later step; shape (n,).

    Raises
    ------
    KerhrmError
        As :func:`gram`.
    """
    _check(module, x)
    return torch.cat([module(part).reshape(len(part)) for part in torch.split(x, chunk_size)])


def _blocks(module: nn.Module, block_size: int) -> Iterator[Block]:
    """Lay the parameters end to end and cut after every ``block_size`` entries."""
    block: Block = []
    room = block_size
    for name, parameter in module.named_parameters():
        start = 0
        while start < parameter.numel():
            stop = min(start + room, parameter.numel())
            block.append((name, start, stop))
            room -= stop - start
            start = stop
            if room == 0:
                yield block
                block, room = [], block_size
    if block:
        yield block


def _gradients(
    module: nn.Module, x: Tensor, block: Block, chunk_size: int, dtype: torch.dtype
) -> Tensor:
    """The columns of Phi(x) that belong to one block, (n, size of the block)."""
    touched: dict[str, Tensor] = {name: module.get_parameter(name) for name, _, _ in block}
    size = sum(stop - start for _, start, stop in block)
    whole = sum(w.numel() for w in touched.values())
    chunk_size = max(1, min(chunk_size, len(x) * size // whole))

    def output(parameters: dict[str, Tensor], point: Tensor) -> Tensor:
        value: Tensor = functional_call(module, parameters, (point.unsqueeze(0),))
        return value.reshape(())

    def gradient(point: Tensor) -> Tensor:
        gradients = grad(output)(touched, point)
        return torch.cat([gradients[name].flatten()[start:stop] for name, start, stop in block])

    phi = x.new_empty((len(x), size), dtype=dtype)
    for part, at in zip(torch.split(x, chunk_size), torch.split(phi, chunk_size), strict=True):
        at.copy_(vmap(gradient)(part))
    return phi


def _dtype(module: nn.Module) -> torch.dtype:
    return next(module.parameters()).dtype


def _check(module: nn.Module, x: Tensor) -> None:
    """f must be one number a point, and a function of that point alone."""
    for name, part in module.named_modules():
        where = f"{name or 'the module'} ({type(part).__name__})"
        if isinstance(part, nn.modules.dropout._DropoutNd) and part.training:
            raise KerhrmError(f"{where} is in training mode", "call module.eval() first")
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            if part.training:
                raise KerhrmError(f"{where} is in training mode", "call module.eval() first")
            if part.running_mean is None:
                raise KerhrmError(
                    f"{where} normalises by the batch at hand", "set track_running_stats=True"
                )
    n = min(len(x), 2)  # two points tell a number per point from one for the batch
    shape = tuple(module(x[:n]).shape)
    if shape not in {(n,), (n, 1)}:
        raise KerhrmError(
            f"the module maps {n} points to shape {shape}, not to one number a point",
            "give it a single output",
        )
