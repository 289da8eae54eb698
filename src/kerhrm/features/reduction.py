"""Reduced neural tangent features Psi = U S (paper, equation "SVD")."""

import functools
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream
from kerhrm.storage.checkpoints import once


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
        """Psi of new points: phi(x)^T V = kappa(x, X) U S^-1.

        Parameters
        ----------
        kappa : Tensor, (B, m, n)
            Kernel between the new points and the training points.

        Returns
        -------
        Tensor, (B, m, k)
        """
        return (kappa.to(self.u.dtype) @ self.u) / self.s.unsqueeze(-2)


def reduce(gram: Tensor, k: int, tolerance: float = 1e-9, max_sweeps: int = 200) -> Reduction:
    """Top-k singular vectors and values of Phi from its Gram matrix.

    Phi Phi^T = U S^2 U^T, so the top-k eigenpairs of the Gram matrix are all
    that is needed.  Found by block subspace iteration with Rayleigh-Ritz (Halko et
    al. 2011, algorithm 4.4, iterated until the residuals
    ||G u_j - s_j^2 u_j|| fall below ``tolerance * s_j^2``): matrix products only, so it runs
    alike on CPU and GPU.  Where k is not small against n the dense solver is used.

    Sign convention: the entry of largest modulus in every column of U is positive.

    Parameters
    ----------
    gram : Tensor, (B, n, n)
        Symmetric, positive semi-definite; any floating dtype (used as float64).
    k : int
        Reduced dimension.

    Returns
    -------
    Reduction
        float64.

    Raises
    ------
    KerhrmError
        If k > n, or a singular value among the first k is numerically zero.
    """
    n = gram.shape[-1]
    if not 1 <= k <= n:
        raise KerhrmError(
            f"reduced dimension k={k} needs 1 <= k <= n={n}",
            "lower k, or use more training points",
        )
    pairs = []
    for g in gram:
        decompose = functools.partial(_top_eigenpairs, g, k, tolerance, max_sweeps)
        pairs.append(once("SVD", decompose, gram.device))
    values = torch.stack([p["values"] for p in pairs])
    u = torch.stack([p["vectors"] for p in pairs])
    # rounding: of the entries of G, and (n eps, as in numpy's matrix_rank) of the solver
    floor = values[:, :1] * max(torch.finfo(gram.dtype).eps, n * torch.finfo(u.dtype).eps)
    if bool((values <= floor).any()):
        rank = int((values > floor).sum(-1).min())
        raise KerhrmError(
            f"the neural tangent features have rank {rank}, less than k={k}", f"set k <= {rank}"
        )
    return Reduction(fix_signs(u), values.sqrt())


def fix_signs(u: Tensor) -> Tensor:
    """Flip columns so that each one's entry of largest modulus is positive."""
    largest = u.abs().argmax(dim=-2, keepdim=True)
    return u * torch.sign(torch.gather(u, -2, largest))


def _top_eigenpairs(gram: Tensor, k: int, tolerance: float, max_sweeps: int) -> dict[str, Tensor]:
    """Eigenvalues (k,), descending, and eigenvectors (n, k) of one matrix."""
    gram, n = gram.double(), gram.shape[-1]
    width = 2 * k + 10  # oversampling: error shrinks by lambda_width / lambda_k a sweep
    if 5 * width > n:
        return _dense_eigenpairs(gram, k)
    start = torch.from_numpy(stream(0, "subspace").standard_normal((n, width)))
    basis = torch.linalg.qr(gram @ start.to(gram))[0]
    floor = n * torch.finfo(gram.dtype).eps  # rounding of the products
    for _ in range(max_sweeps):
        image = gram @ basis
        values, rotation = torch.linalg.eigh(basis.mT @ image)
        values, rotation = values.flip(-1)[:k], rotation.flip(-1)[:, :k]
        vectors = basis @ rotation
        residual = (image @ rotation - vectors * values).norm(dim=0)
        if bool((residual <= (tolerance * values).clamp_min(floor * values[0])).all()):
            return {"values": values, "vectors": vectors}
        basis = torch.linalg.qr(image)[0]
    return _dense_eigenpairs(gram, k)


def _dense_eigenpairs(gram: Tensor, k: int) -> dict[str, Tensor]:
    values, vectors = torch.linalg.eigh(gram)
    return {"values": values.flip(-1)[:k], "vectors": vectors.flip(-1)[:, :k]}
