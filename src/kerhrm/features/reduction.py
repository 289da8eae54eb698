"""Reduced neural tangent features Psi = U S (paper, equation "SVD")."""

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream
from kerhrm.storage.checkpoints import once

TOLERANCE, MAX_PASSES = 1e-9, 200
MOST_ROWS = 300  #: of the Krylov space, unless k needs more


class RankError(KerhrmError):
    """Fewer dimensions than asked for; ``rank`` says how many there are."""

    def __init__(self, rank: int, k: int) -> None:
        self.rank = rank
        problem = f"the neural tangent features have rank {rank}, less than k={k}"
        super().__init__(problem, f"set k <= {rank}")


@dataclass(frozen=True)
class Reduction:
    """Truncated SVD Phi = U S V^T; V stays implicit.

    Attributes
    ----------
    u : Tensor, (B, n, k), orthonormal columns
    s : Tensor, (B, k), singular values, descending
    """

    u: Tensor
    s: Tensor

    @property
    def psi(self) -> Tensor:
        """Psi = U S of the training points, (B, n, k)."""
        return self.u * self.s.unsqueeze(-2)

    def project(self, kappa: Tensor) -> Tensor:
        """Psi (B, m, k) of new points: phi(x)^T V = kappa(x, X) U S^-1 of kappa (B, m, n)."""
        return (kappa.to(self.u.dtype) @ self.u) / self.s.unsqueeze(-2)


def reduce(gram: Tensor, k: int) -> Reduction:
    """Top-k singular vectors and values of Phi from its Gram matrix.

    Phi Phi^T = U S^2 U^T, so the top-k eigenpairs of the Gram matrix G (B, n, n), symmetric and
    positive semi-definite, are all that is needed.  Found in float64 by block Lanczos iteration
    with full orthogonalisation and Rayleigh-Ritz (Golub & Underwood 1977), until the residuals
    ``||G u_j - s_j^2 u_j||`` fall below 1e-9 s_j^2: matrix products and small decompositions only,
    so it runs alike on CPU and GPU.  Where k is not small against n the dense solver is used.

    Sign convention: the entry of largest modulus in every column of U is positive.

    Raises
    ------
    KerhrmError
        If k > n, or a singular value among the first k is numerically zero.
    """
    n = gram.shape[-1]
    if not 1 <= k <= n:
        problem = f"reduced dimension k={k} needs 1 <= k <= n={n}"
        raise KerhrmError(problem, "lower k, or use more training points")
    pairs = [once("SVD", functools.partial(_top_eigenpairs, g, k), gram.device) for g in gram]
    values, u = (torch.stack([p[name] for p in pairs]) for name in ("values", "vectors"))
    # rounding: of the entries of G, and (n eps, as in numpy's matrix_rank) of the solver
    floor = values[:, :1] * max(torch.finfo(gram.dtype).eps, n * torch.finfo(u.dtype).eps)
    if bool((values <= floor).any()):
        rank = int((values > floor).sum(-1).min())
        raise RankError(rank, k)
    return Reduction(fix_signs(u), values.sqrt())


def fix_signs(u: Tensor) -> Tensor:
    """Flip columns so that each one's entry of largest modulus is positive."""
    largest = u.abs().argmax(dim=-2, keepdim=True)
    return u * torch.sign(torch.gather(u, -2, largest))


def _top_eigenpairs(gram: Tensor, k: int) -> dict[str, Tensor]:
    """Eigenvalues (k,), descending, and eigenvectors (n, k) of one matrix."""
    gram, n = gram.double(), gram.shape[-1]
    width = 10 + k // 8  # of a block: narrow ones cost passes over G, wide ones products
    most = max(2 * k + 4 * width, min(MOST_ROWS, n // 3))
    if most + width > n // 2:
        return _dense_eigenpairs(gram, k)
    basis, images = gram.new_empty(2, most + width, n)  # rows are vectors and their products with G
    projected = gram.new_zeros(most + width, most + width)
    draw = torch.from_numpy(stream(0, "subspace").standard_normal((width, n)))
    block = _orthonormal(draw.to(gram), basis[:0])
    floor = n * torch.finfo(gram.dtype).eps  # rounding of the products
    size = 0
    for _ in range(MAX_PASSES):
        new, size = slice(size, size + width), size + width
        basis[new], images[new] = block, block @ gram
        projected[new, :size] = images[new] @ basis[:size].mT
        values, rotation = torch.linalg.eigh(projected[:size, :size])  # reads the lower half
        values, rotation = values.flip(-1), rotation.flip(-1).mT
        top, vectors = values[:k], rotation[:k] @ basis[:size]
        residual = (rotation[:k] @ images[:size] - top[:, None] * vectors).norm(dim=1)
        if size >= k and bool((residual <= (TOLERANCE * top).clamp_min(floor * top[0])).all()):
            return {"values": top, "vectors": vectors.mT.contiguous()}
        block = _orthonormal(images[new], basis[:size])
        if size + width > most:  # go on from the best alone (Wu & Simon 2000)
            best = k + width
            basis[:best], images[:best] = (rotation[:best] @ r[:size] for r in (basis, images))
            projected[:best, :best] = torch.diag(values[:best])
            size = best
    return _dense_eigenpairs(gram, k)


def _orthonormal(block: Tensor, basis: Tensor) -> Tensor:
    """Orthonormal rows that span a block's new part; twice, as rounding brings back the old."""
    for _ in range(2):
        block = block - (block @ basis.mT) @ basis
        block = torch.linalg.qr(block.mT)[0].mT
    return block


def _dense_eigenpairs(gram: Tensor, k: int) -> dict[str, Tensor]:
    values, vectors = torch.linalg.eigh(gram)
    return {"values": values.flip(-1)[:k], "vectors": vectors.flip(-1)[:, :k]}
