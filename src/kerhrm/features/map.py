"""From points to reduced neural tangent features: fit on training points, map new ones.

Psi = U S is a truncated singular value decomposition (paper, eq. "SVD").
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import TangentFeatures, extract
from kerhrm.memory import require, require_on_gpu
from kerhrm.networks.base import Network
from kerhrm.progress import counting
from kerhrm.randomness import stream
from kerhrm.threads import one_blas_thread

#: share of all eigenpairs above which the dense solver is faster
DENSE_SHARE = 0.1
#: the same on a GPU, where 70 of 5 000 take as long as all, and the largest matrix
#: for whose seven copies that solver is given the memory
DENSE_SHARE_ON_GPU = 0.015
DENSE_ROWS_ON_GPU = 10_000
#: rows of a Gram matrix that one thread of OpenBLAS multiplies as fast as several do,
#: which then spin for a while and take the cores from PyTorch's
ONE_THREAD = 4000
#: bytes of an entry of the kernel where it is made double: in float32, and in float64
KERNEL_ENTRY = 4 + 8
#: what helps where the memory is not enough for the kernel
BY_LANDMARKS = "use landmarks (NystroemMap; features.n_landmarks of data)"


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
            If k exceeds n or the features' rank, or if the kernel needs more memory
            than there is.
        """
        require_kernel(x, x, BY_LANDMARKS)
        ntf, f0 = extract(network, x)
        u, s = reduce(ntf.kernel(ntf), k)  # nothing else holds the kernel
        outputs = f0.double()
        return cls(network=network, x=x, ntf=ntf, f0=outputs, u=u, s=s)

    @property
    def psi(self) -> Tensor:
        """Psi = U S of the training points, (n, k)."""
        return self.u * self.s

    def transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Reduced features kappa(x, X) U S^-1 (m, k) and f_0 (m,) of points (m, d),
        float64.

        Raises KerhrmError if kappa(x, X) needs more memory than there is.
        """
        require_kernel(x, self.x, BY_LANDMARKS)
        ntf, f0 = extract(self.network, x)
        kernel = ntf.kernel(self.ntf).double()
        projected = kernel @ self.u
        psi = projected / self.s
        return psi, f0.double()

    def linearise(self, directions: Tensor) -> Linearisation:
        """Map points to psi(x)^T directions, of (k, J), at a cost that does not depend
        on n."""
        scaled = self.u / self.s
        coefficients = scaled @ directions
        return Linearisation.along(self.network, self.x, coefficients)


class RankError(KerhrmError):
    """Fewer dimensions, ``rank``, than the k that were asked for."""

    def __init__(self, rank: int, k: int) -> None:
        self.rank = rank
        problem = f"the neural tangent features have rank {rank}, less than k={k}"
        super().__init__(problem, f"set k <= {rank}")


def require_kernel(x: Tensor, z: Tensor, hint: str) -> None:
    """Refuse points (n, d), (m, d) whose kernel their device's memory does not hold."""
    n_bytes = KERNEL_ENTRY * len(x) * len(z)
    numbers = f"{len(x)}" if x is z else f"{len(x)} and {len(z)}"
    what = f"the kernel of {numbers} points"
    if x.device.type == "cpu":
        require(n_bytes, what, hint)
    elif x.device.type == "cuda":
        require_on_gpu(n_bytes, what, hint, x.device)


def reduce(gram: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Top-k left singular vectors and singular values of Phi from its Gram matrix.

    Phi Phi^T = U S^2 U^T, so the top-k eigenpairs of the Gram matrix are all that is
    needed: in float64 by ARPACK, and by the dense solver where k is not small against
    n.  On a GPU the matrix stays there, and one vector (n,) goes each way a product.

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
    n = len(gram)
    if not 1 <= k <= n:
        problem = f"reduced dimension k={k} needs 1 <= k <= n={n}"
        raise KerhrmError(problem, "choose k in that range, or use more points")
    entry_rounding = torch.finfo(gram.dtype).eps
    gram = gram.double()
    small_on_gpu = gram.device.type == "cuda" and n <= DENSE_ROWS_ON_GPU
    dense_share = DENSE_SHARE_ON_GPU if small_on_gpu else DENSE_SHARE
    if k < dense_share * n:
        eigenvalues, u = _leading_eigenpairs(gram, k)
    else:
        eigenvalues, u = torch.linalg.eigh(gram)
    eigenvalues, order = eigenvalues.sort(descending=True)
    eigenvalues = eigenvalues[:k]
    leading = order[:k]
    u = u[:, leading]
    solver_eps = torch.finfo(u.dtype).eps
    solver_rounding = n * solver_eps
    rounding = max(entry_rounding, solver_rounding)
    floor = eigenvalues[0] * rounding
    above_floor = eigenvalues > floor
    rank = int(above_floor.sum())
    if rank < k:
        raise RankError(rank, k)
    singular_values = eigenvalues.sqrt()
    return fix_signs(u), singular_values


def _leading_eigenpairs(gram: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues (k,) and vectors (n, k) of a Gram matrix (n, n), by ARPACK."""
    n = len(gram)
    random = stream(0, "subspace")
    start = random.standard_normal(n)
    product = _product_with(gram)

    def times_gram(vector: np.ndarray) -> np.ndarray:
        count()
        flat = vector.ravel()
        return product(flat)

    shape = (n, n)
    operator = LinearOperator(shape, matvec=times_gram, dtype=float)
    threads = one_blas_thread() if n <= ONE_THREAD else nullcontext()
    with threads, counting("products with the Gram matrix") as count:
        eigenvalues, u = eigsh(operator, k, which="LA", v0=start)
    values = torch.from_numpy(eigenvalues)
    vectors = torch.from_numpy(u)
    return values.to(gram.device), vectors.to(gram.device)


def _product_with(gram: Tensor) -> Callable[[np.ndarray], np.ndarray]:
    """Product of a Gram matrix (n, n) with vectors (n,), where the matrix is."""
    if gram.device.type != "cpu":

        def on_device(vector: np.ndarray) -> np.ndarray:
            right = torch.from_numpy(vector).to(gram.device)
            product = gram @ right
            return product.cpu().numpy()

        return on_device

    triangle = gram.numpy().T

    def of_triangle(vector: np.ndarray) -> np.ndarray:
        """Reads one triangle; reading is what takes the time."""
        return dsymv(1.0, triangle, vector)

    return of_triangle


def fix_signs(u: Tensor) -> Tensor:
    """Flip columns so that the entry of largest modulus of each is positive."""
    return u * largest_signs(u)


def largest_signs(u: Tensor) -> Tensor:
    """Sign (k,) of the entry of largest modulus of each column of u (n, k)."""
    sizes = u.abs()
    rows = sizes.argmax(dim=0, keepdim=True)
    (largest,) = torch.gather(u, 0, rows)
    return torch.sign(largest)
