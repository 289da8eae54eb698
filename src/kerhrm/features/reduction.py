"""Reduced features Psi = U S by a truncated singular value decomposition (paper, eq. "SVD")."""

import torch
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

#: share of all eigenpairs above which the dense solver is faster
DENSE_SHARE = 0.1


class RankError(KerhrmError):
    """Fewer dimensions than asked for.

    Parameters
    ----------
    rank, k : int
        Dimensions that there are, and that were asked for.
    """

    def __init__(self, rank: int, k: int) -> None:
        self.rank = rank
        problem = f"the neural tangent features have rank {rank}, less than k={k}"
        super().__init__(problem, f"set k <= {rank}")


def reduce(gram: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Top-k left singular vectors and singular values of Phi from its Gram matrix.

    Phi Phi^T = U S^2 U^T, so the top-k eigenpairs of the Gram matrix are all that is needed:
    in float64 by ARPACK on a CPU, by the dense solver on a GPU and where k is not small against n.

    Parameters
    ----------
    gram : Tensor, (n, n)
        Symmetric and positive semi-definite.
    k : int
        Dimensions to keep.

    Returns
    -------
    u : Tensor, (n, k), float64
        Orthonormal columns, whose entries of largest modulus are positive.
    s : Tensor, (k,), float64
        Singular values, descending.

    Raises
    ------
    KerhrmError
        If k > n, or a singular value among the first k is numerically zero.
    """
    n, eps = len(gram), torch.finfo(gram.dtype).eps
    if not 1 <= k <= n:
        problem = f"reduced dimension k={k} needs 1 <= k <= n={n}"
        raise KerhrmError(problem, "lower k, or use more training points")
    gram = gram.double()
    if gram.device.type == "cpu" and k < DENSE_SHARE * n:
        start, half = stream(0, "subspace").standard_normal(n), gram.numpy().T
        # reads one triangle: products with a large matrix take as long as reading it
        product = LinearOperator((n, n), matvec=lambda v: dsymv(1.0, half, v.ravel()), dtype=float)
        values, u = map(torch.from_numpy, eigsh(product, k, which="LA", v0=start))
    else:
        values, u = torch.linalg.eigh(gram)
    values, order = values.sort(descending=True)
    values, u = values[:k], u[:, order[:k]]
    # rounding: of the entries of the Gram matrix, and (n eps) of the solver
    floor = values[0] * max(eps, n * torch.finfo(u.dtype).eps)
    if (rank := int((values > floor).sum())) < k:
        raise RankError(rank, k)
    return fix_signs(u), values.sqrt()


def fix_signs(u: Tensor) -> Tensor:
    """Flip columns so that the entry of largest modulus of each is positive."""
    largest = u.abs().argmax(dim=0, keepdim=True)
    return u * torch.sign(torch.gather(u, 0, largest))
