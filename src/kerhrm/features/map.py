"""From points to reduced neural tangent features: fit on training points, map new ones.

Psi = U S is a truncated singular value decomposition (paper, eq. "SVD").
"""

from contextlib import nullcontext
from dataclasses import dataclass

import torch
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import TangentFeatures, extract
from kerhrm.networks.base import Network
from kerhrm.randomness import stream
from kerhrm.threads import one_blas_thread

#: share of all eigenpairs above which the dense solver is faster
DENSE_SHARE = 0.1
#: rows of a Gram matrix that one thread of OpenBLAS multiplies as fast as several do,
#: which then spin for a while and take the cores from PyTorch's
ONE_THREAD = 4000


@dataclass(frozen=True)
class NTFMap:
    """Reduced features psi(x) = phi(x)^T V of a network at w_0.

    V is from the truncated singular value decomposition Phi = U S V^T of the training
    points, and stays implicit.

    Attributes
    ----------
    network : Network
        f_{w_0}.
    x : Tensor, (n, d)
        Training points.
    ntf : TangentFeatures, (n, p)
        Phi.
    f0 : Tensor, (n,), float64
        Outputs of the untrained network on them.
    u, s : Tensor, (n, k), (k,), float64
        U and S.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, NTFMap, build
    >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    >>> features = NTFMap.fit(build(NetworkOptions(widths=[32]), seed=0, d=3), x, k=4)
    >>> psi, f0 = features.transform(x)
    >>> psi.shape, bool(torch.allclose(psi, features.psi, atol=1e-4))
    (torch.Size([50, 4]), True)
    """

    network: Network
    x: Tensor
    ntf: TangentFeatures
    f0: Tensor
    u: Tensor
    s: Tensor

    @classmethod
    def fit(cls, network: Network, x: Tensor, k: int) -> "NTFMap":
        """Decompose the features of training points (n, d) at w_0, and keep k
        dimensions.

        Raises
        ------
        KerhrmError
            If k exceeds n or the features' rank.
        """
        ntf, f0 = extract(network, x)
        return cls(network, x, ntf, f0.double(), *reduce(ntf.kernel(ntf), k))

    @property
    def psi(self) -> Tensor:
        """Psi = U S of the training points, (n, k)."""
        return self.u * self.s

    def transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Reduced features kappa(x, X) U S^-1 (m, k) and f_0 (m,) of points (m, d),
        float64."""
        ntf, f0 = extract(self.network, x)
        return (ntf.kernel(self.ntf).double() @ self.u) / self.s, f0.double()

    def linearise(self, directions: Tensor) -> Linearisation:
        """Map points to psi(x)^T directions, of (k, J), at a cost that does not depend
        on n."""
        return Linearisation.along(self.network, self.x, (self.u / self.s) @ directions)


class RankError(KerhrmError):
    """Fewer dimensions, ``rank``, than the k that were asked for."""

    def __init__(self, rank: int, k: int) -> None:
        self.rank = rank
        problem = f"the neural tangent features have rank {rank}, less than k={k}"
        super().__init__(problem, f"set k <= {rank}")


def reduce(gram: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Top-k left singular vectors and singular values of Phi from its Gram matrix.

    Phi Phi^T = U S^2 U^T, so the top-k eigenpairs of the Gram matrix are all that is
    needed: in float64 by ARPACK on a CPU, by the dense solver on a GPU and where k is
    not small against n.

    Raises KerhrmError if k > n, or a singular value among the first k is numerically
    zero.

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
    """
    n, eps = len(gram), torch.finfo(gram.dtype).eps
    if not 1 <= k <= n:
        problem = f"reduced dimension k={k} needs 1 <= k <= n={n}"
        raise KerhrmError(problem, "choose k in that range, or use more points")
    gram = gram.double()
    if gram.device.type == "cpu" and k < DENSE_SHARE * n:
        start, half = stream(0, "subspace").standard_normal(n), gram.numpy().T
        # reads one triangle: products with a large matrix take as long as reading it
        product = LinearOperator(
            (n, n), matvec=lambda v: dsymv(1.0, half, v.ravel()), dtype=float
        )
        with one_blas_thread() if n <= ONE_THREAD else nullcontext():
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
