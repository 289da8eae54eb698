"""Reduced neural tangent features of many points, by way of some of them.

The kernel of n = 50 000 points has 2.5 billion entries.  Here only its columns at m
landmarks are ever computed, a few rows at a time.  With Z the landmarks, drawn at
random from the training points X:

1. B (m, q), orthonormal, spans the leading eigenvectors of kappa(Z, Z), roughly
   (randomised range finder with power iterations, Halko et al. 2011, algorithm 4.4; q >
   k).
2. The directions D = Phi(Z)^T B (B^T kappa(Z, Z) B)^(-1/2) are orthonormal in R^p,
   however rough B is, and P = Phi(X) D = kappa(X, Z) B (...)^(-1/2) are all points'
   coordinates.
3. Rayleigh-Ritz: P^T P = R S^2 R^T, so S and D R are the singular values and directions
   of Phi(X) within the span of D, the best that it holds; the leading k are kept.

psi(x) = kappa(x, Z) W with W = B (...)^(-1/2) R is then an exact orthogonal projection
of phi(x), onto directions that are nearly the leading ones.  Step 3 is what the
Nystroem method (Williams & Seeger 2001: W from the landmarks alone) leaves out.
"""

import logging
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features.linearised import Linearisation
from kerhrm.features.map import RankError, largest_signs, require_kernel
from kerhrm.features.ntf import extract
from kerhrm.features.options import NystroemOptions
from kerhrm.memory import require, size_of
from kerhrm.networks.base import Network
from kerhrm.progress import progress
from kerhrm.randomness import drawn_landmarks, stream

#: entries of kappa(x, Z) that are held at once; 0.25 GB in float32
CHUNK = 2**26
POWER_ITERATIONS = 2
#: points whose coordinates are held in double precision at once
BLOCK = 2**12

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NystroemMap:
    """Reduced features psi(x) = kappa(x, Z) W of a network at w_0.

    Attributes
    ----------
    network : Network
        f_{w_0}.
    z : Tensor, (m, d)
        Landmarks.
    weights : Tensor, (m, k), float32
        W.
    f0 : Tensor, (n,), float32
        Outputs of the untrained network on the training points.
    u, s : Tensor, (n, k), (k,), float32
        Singular value decomposition of the training points' Phi within the landmarks'
        span.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, NystroemMap, build
    >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    >>> network = build(NetworkOptions(widths=[32]), seed=0, d=3)
    >>> features = NystroemMap.fit(network, x, k=4)
    >>> features.transform(x)[0].shape
    torch.Size([50, 4])
    """

    network: Network
    z: Tensor
    weights: Tensor
    f0: Tensor
    u: Tensor
    s: Tensor

    @classmethod
    def fit(
        cls,
        network: Network,
        x: Tensor,
        k: int,
        options: NystroemOptions | None = None,
        seed: int = 0,
    ) -> "NystroemMap":
        """Find k leading directions of training points (n, d) at w_0.

        Landmarks are drawn from the seed's stream ``landmarks``.

        Raises
        ------
        KerhrmError
            If k exceeds the number or the rank of the landmarks, or if their kernel
            or the features need more memory than there is.
        """
        options = options or NystroemOptions()
        n = len(x)
        m = min(options.n_landmarks, n)
        if not 1 <= k <= m:
            problem = f"reduced dimension k={k} needs 1 <= k <= {m} landmarks"
            hint = "choose k in that range"
            if k <= n:
                larger = f"options=NystroemOptions(n_landmarks={k})"
                hint = f"{hint}, or raise n_landmarks: {larger}"
            raise KerhrmError(problem, hint)
        landmarks = drawn_landmarks(seed, n, m)
        z = x[torch.from_numpy(landmarks).to(x.device)]
        require_kernel(z, z, "lower n_landmarks")
        _require_features(x, k)
        oversampled = int(options.oversampling * k)
        n_directions = min(m, oversampled)
        whitening = _directions(network, z, n_directions, k)
        coordinates, f0 = _coordinates(network, z, whitening, x)
        s, rotation = _ritz(coordinates, k)
        u = coordinates @ (rotation / s)
        signs = largest_signs(u)
        log.info("%d landmarks of %d points: s_1 = %.4g, s_k = %.4g", m, n, s[0], s[-1])
        return cls(
            network=network,
            z=z,
            weights=whitening @ (rotation * signs),
            f0=f0,
            u=u * signs,
            s=s,
        )

    @property
    def psi(self) -> Tensor:
        """Psi = U S of the training points, (n, k)."""
        return self.u * self.s

    def transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Reduced features (m, k) and f_0 (m,) of points (m, d), float32, in bounded
        memory."""
        return _coordinates(self.network, self.z, self.weights, x)

    def linearise(self, directions: Tensor) -> Linearisation:
        """Map points to psi(x)^T directions, of (k, J), at a cost that does not depend
        on n."""
        whitening = self.weights.double()
        coefficients = whitening @ directions
        return Linearisation.along(self.network, self.z, coefficients)


def _require_features(x: Tensor, k: int) -> None:
    """Refuse points (n, d) whose features need more memory than there is.

    The coordinates, of k columns or more, stand next to U and to U with other signs.
    PyTorch itself says what a GPU does not hold.
    """
    if x.is_cuda:
        return
    n = len(x)
    n_bytes = size_of([x]) + 3 * x.element_size() * n * k
    hint = "use fewer points or a smaller k, or a machine with more memory"
    require(n_bytes, f"the features of {n} points with k={k}", hint)


def _coordinates(
    network: Network, z: Tensor, weights: Tensor, x: Tensor
) -> tuple[Tensor, Tensor]:
    """kappa(x, Z) W and f_0 of points x (n, d), in bounded memory."""
    n = len(x)
    k = weights.shape[-1]
    landmarks, _ = extract(network, z)
    psi = weights.new_empty(n, k)
    f0 = weights.new_empty(n)
    that_fit = CHUNK // len(z)
    step = max(1, that_fit)
    starts = range(0, n, step)
    for first in progress(starts, "blocks of points"):
        last = first + step
        rows = slice(first, last)
        ntf, outputs = extract(network, x[rows])
        f0[rows] = outputs
        kernel = ntf.kernel(landmarks)
        psi[rows] = kernel.to(psi.dtype) @ weights
    return psi, f0


def _directions(network: Network, z: Tensor, q: int, k: int) -> Tensor:
    """B (B^T kappa(Z, Z) B)^(-1/2), (m, up to q): whitens kappa(., Z)."""
    ntf, _ = extract(network, z)
    gram = ntf.kernel(ntf).double()
    m = len(z)
    random = stream(0, "subspace")
    shape = (m, q)
    draw = random.standard_normal(shape)
    drawn = torch.from_numpy(draw)
    start = drawn.to(gram)
    image = gram @ start
    basis, _ = torch.linalg.qr(image)
    for _ in range(POWER_ITERATIONS):
        image_of_basis = gram @ basis
        basis, _ = torch.linalg.qr(image_of_basis)
    last_image = gram @ basis
    inner = basis.mT @ last_image
    doubled = inner + inner.mT
    symmetric = doubled / 2
    eigenvalues, vectors = torch.linalg.eigh(symmetric)
    kernel_precision = torch.finfo(torch.float32).eps
    floor = eigenvalues[-1] * kernel_precision
    kept = eigenvalues > floor
    rank = int(kept.sum())
    if rank < k:
        raise RankError(rank, k)
    kept_values = eigenvalues[kept]
    lengths = kept_values.sqrt()
    scaled_vectors = vectors[:, kept] / lengths
    whitening = basis @ scaled_vectors
    return whitening.to(z.dtype)


def _ritz(coordinates: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Leading singular values (k,) and right vectors (q, k) of coordinates (n, q)."""
    split = coordinates.split(BLOCK)
    blocks = (block.double() for block in split)
    second = sum(block.mT @ block for block in blocks)
    eigenvalues, vectors = torch.linalg.eigh(second)
    largest = eigenvalues[-k:]
    leading = largest.flip(-1)
    s = leading.sqrt()
    leading_vectors = vectors[:, -k:]
    rotation = leading_vectors.flip(-1)
    singular_values = s.to(coordinates)
    return singular_values, rotation.to(coordinates)
