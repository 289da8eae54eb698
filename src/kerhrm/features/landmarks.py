"""Reduced neural tangent features of many points, by way of some of them.

The kernel of n = 50 000 points has 2.5 billion entries.  Here only its columns at m landmarks
are ever computed, a few rows at a time.  With Z the landmarks, drawn at random from the
training points X:

1. B (m, q), orthonormal, spans the leading eigenvectors of kappa(Z, Z), roughly (randomised
   range finder with power iterations, Halko et al. 2011, algorithm 4.4; q > k).
2. The directions D = Phi(Z)^T B (B^T kappa(Z, Z) B)^(-1/2) are orthonormal in R^p, however
   rough B is, and P = Phi(X) D = kappa(X, Z) B (...)^(-1/2) are all points' coordinates.
3. Rayleigh-Ritz: P^T P = R S^2 R^T, so S and D R are the singular values and directions of
   Phi(X) within the span of D, the best that it holds; the leading k are kept.

4. If asked for, passes over the kernel of all points, subspace iteration: steps 2 and 3 with
   Z = X and B an orthonormal basis of P.

psi(x) = kappa(x, Z) W with W = B (...)^(-1/2) R is then an exact orthogonal projection of
phi(x), onto directions that are nearly the leading ones.  Step 3 is what the Nystrom method
(Williams & Seeger 2001: W from the landmarks alone) leaves out; how much it matters, and
how many landmarks it takes, is measured in docs/scale.md.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.features.extract import extract
from kerhrm.features.options import Landmarks
from kerhrm.features.reduction import RankError, Reduction, fix_signs
from kerhrm.networks.build import load_network, save_network
from kerhrm.networks.protocol import Network
from kerhrm.randomness import stream

#: entries of kappa(x, Z) that are held at once; 0.25 GB in float32
CHUNK = 2**26
POWER_ITERATIONS = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LandmarkMap:
    """psi(x) = kappa(x, Z) W of B networks.

    Attributes
    ----------
    network : Network
        w_0.
    z : Tensor, (B, m, d)
        Landmarks.
    weights : Tensor, (B, m, k), float32
        W.
    """

    network: Network
    z: Tensor
    weights: Tensor

    @classmethod
    def fit(
        cls, network: Network, x: Tensor, k: int, options: Landmarks, seeds: Sequence[int]
    ) -> tuple["LandmarkMap", Reduction, Tensor]:
        """Find the k leading directions of points (B, n, d) at w_0.

        Parameters
        ----------
        seeds : sequence of int, length B
            Landmarks are drawn from their streams ``landmarks``.

        Returns
        -------
        LandmarkMap
        Reduction
            U and S of the points within the landmarks' span, float32.
        f0 : Tensor, (B, n)
            Outputs of the untrained networks on them.

        Raises
        ------
        KerhrmError
            If k exceeds the number or the rank of the landmarks.
        """
        found = [
            _fit_one(network.take(slice(b, b + 1)), x[b : b + 1], k, options, seed)
            for b, seed in enumerate(seeds)
        ]
        z, weights, u, s, f0 = (torch.cat(parts) for parts in zip(*found, strict=True))
        return cls(network, z, weights), Reduction(u, s), f0

    def transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Reduced features psi (B, m, k) and outputs f_0 (B, m) of points (B, m, d); float32."""
        psi = self.weights.new_empty(*x.shape[:2], self.weights.shape[-1])
        f0 = psi.new_empty(x.shape[:2])
        step = max(1, CHUNK // self.z.shape[1])
        for b in range(len(x)):
            network = self.network.take(slice(b, b + 1))
            landmarks, _ = extract(network, self.z[b : b + 1])
            for first in range(0, x.shape[1], step):
                rows = slice(first, first + step)
                ntf, outputs = extract(network, x[b : b + 1, rows])
                psi[b, rows] = ntf.kernel(landmarks)[0].to(psi.dtype) @ self.weights[b]
                f0[b, rows] = outputs[0]
        return psi, f0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write w_0, landmarks and weights to one file."""
        save_network(path, self.network, z=self.z, weights=self.weights)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], device: torch.device | str = "cpu"
    ) -> "LandmarkMap":
        """Read what :meth:`save` wrote."""
        network, saved = load_network(path, device)
        return cls(network, saved["z"], saved["weights"])


def _fit_one(
    network: Network, x: Tensor, k: int, options: Landmarks, seed: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Landmarks, W, U, S and f_0 of one network, all with a leading axis of 1."""
    n, m = x.shape[1], min(options.landmarks, x.shape[1])
    if not 1 <= k <= m:
        problem = f"reduced dimension k={k} needs 1 <= k <= {m} landmarks"
        raise KerhrmError(problem, "lower k, or use more landmarks")
    rows = torch.from_numpy(stream(seed, "landmarks").choice(n, m, replace=False))
    z = x[:, rows.to(x.device)]
    weights = _directions(network, z, min(m, int(options.oversampling * k)), k)
    coordinates, f0 = LandmarkMap(network, z, weights).transform(x)
    for _ in range(options.passes):
        basis = torch.linalg.qr(coordinates[0])[0]
        image = LandmarkMap(network, x, basis[None]).transform(x)[0][0]
        whitening = _inverse_root(basis.mT @ image, k)
        z, weights, coordinates = x, (basis @ whitening)[None], (image @ whitening)[None]
    values, rotation = _ritz(coordinates[0], k)
    u = coordinates[0] @ (rotation / values)
    signs = torch.sign(fix_signs(u)[:1] * u[:1])
    log.info("%d landmarks of %d points: s_1 = %.4g, s_k = %.4g", m, n, values[0], values[-1])
    return z, weights @ (rotation * signs), (u * signs)[None], values[None], f0


def _directions(network: Network, z: Tensor, q: int, k: int) -> Tensor:
    """B (B^T kappa(Z, Z) B)^(-1/2) of one network, (1, m, up to q): whitens kappa(., Z)."""
    ntf, _ = extract(network, z)
    gram = ntf.kernel(ntf)[0].double()
    start = torch.from_numpy(stream(0, "subspace").standard_normal((z.shape[1], q))).to(gram)
    basis = torch.linalg.qr(gram @ start)[0]
    for _ in range(POWER_ITERATIONS):
        basis = torch.linalg.qr(gram @ basis)[0]
    return (basis @ _inverse_root(basis.mT @ (gram @ basis), k)).to(z.dtype)[None]


def _inverse_root(gram: Tensor, k: int) -> Tensor:
    """R D^(-1/2) of gram (q, q) = R D R^T, but for the directions that are rounding noise.

    Raises
    ------
    KerhrmError
        If fewer than k directions are left.
    """
    values, vectors = torch.linalg.eigh((gram + gram.mT).double() / 2)
    kept = values > values[-1] * torch.finfo(torch.float32).eps  # a kernel's own precision
    if (rank := int(kept.sum())) < k:
        raise RankError(rank, k)
    return (vectors[:, kept] / values[kept].sqrt()).to(gram.dtype)


def _ritz(coordinates: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Leading singular values (k,) and right vectors (q, k) of coordinates (n, q)."""
    second = sum(part.mT.double() @ part.double() for part in coordinates.split(2**12))
    values, vectors = torch.linalg.eigh(second)
    order = slice(-k, None)
    return values[order].flip(-1).sqrt().to(coordinates), vectors[:, order].flip(-1).to(coordinates)
