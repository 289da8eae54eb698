"""From points to reduced neural tangent features: fit on training points, map new ones."""

from dataclasses import dataclass

from torch import Tensor

from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import TangentFeatures, extract
from kerhrm.features.nystroem import NystroemMap, NystroemOptions
from kerhrm.features.reduction import RankError, reduce
from kerhrm.networks.base import Network


@dataclass(frozen=True)
class NTFMap:
    """Reduced features psi(x) = phi(x)^T V of a network at w_0.

    V is from the truncated singular value decomposition Phi = U S V^T of the training points, and
    stays implicit.

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
        """Decompose the features of points at w_0.

        Parameters
        ----------
        network : Network
            f_{w_0}.
        x : Tensor, (n, d)
            Training points.
        k : int
            Dimensions to keep.

        Returns
        -------
        NTFMap
            Maps new points, too.

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
        """Reduced features kappa(x, X) U S^-1 (m, k) and f_0 (m,) of points (m, d), float64."""
        ntf, f0 = extract(self.network, x)
        return (ntf.kernel(self.ntf).double() @ self.u) / self.s, f0.double()

    def linearise(self, directions: Tensor) -> Linearisation:
        """Map points to psi(x)^T directions, of (k, J), at a cost that does not depend on n."""
        return Linearisation.along(self.network, self.x, (self.u / self.s) @ directions)


def reduced_features(
    network: Network, x: Tensor, k: int, max_exact: int, options: NystroemOptions, seed: int
) -> NTFMap | NystroemMap:
    """Reduce points (n, d) to k dimensions, or to as many as the features have.

    By way of landmarks where there are more than ``max_exact`` points.
    """
    exact = len(x) <= max_exact
    k = k if exact else min(k, options.n_landmarks)
    while True:
        try:
            if exact:
                return NTFMap.fit(network, x, k)
            return NystroemMap.fit(network, x, k, options, seed)
        except RankError as error:
            if k == 1:
                raise
            # the last directions of that rank may be lost, too, where rounding rules them
            k = max(1, min(error.rank, 4 * k // 5))
