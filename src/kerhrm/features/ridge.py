r"""ERM in closed form.

Ridge regression on tangent features, its penalty by leave-one-out.

.. math::
    \min_{b, \beta} \sum_i (y_i - b - z_i^\top \beta)^2 + \lambda |\beta|^2

over columns z_i that are the inputs, or the inputs and the neural tangent features of
some landmarks.  With Z = U S V^T (centred) the fitted values are b + U S^2 (S^2 +
lambda)^-1 U^T y, and the prediction of a point by all others is y_i - r_i / (1 - h_i),
r_i its residual and h_i = 1/n + sum_j u_ij^2 s_j^2 / (s_j^2 + lambda) (Golub, Heath and
Wahba 1979).  Its mean square chooses lambda and the columns, so that no point is held
out.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import extract
from kerhrm.networks.base import Network
from kerhrm.randomness import stream

RIDGES = np.logspace(-6, 4, 21)  #: lambda, in units of the columns' mean square norm
N_LANDMARKS = 300
RANK_TOLERANCE = 1e-10  #: of eigenvalues, as a share of the largest
LARGEST_LEVERAGE = 1 - 1e-6  #: beyond it a point is fitted whatever its label


@dataclass(frozen=True)
class RidgePath:
    """Ridge regressions of n points on q columns, for every lambda and any labels.

    Attributes
    ----------
    u, values, v : ndarray, (n, r), (r,), (q, r)
        Of the centred columns: left singular vectors, squared singular values, right
        ones.
    mean : ndarray, (q,)
        Of the columns.
    weights : ndarray, (n,)
        Of the points, of mean 1; sums over points are weighted sums, and u has a factor
        of the weights' square root.
    """

    u: np.ndarray
    values: np.ndarray
    v: np.ndarray
    mean: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, columns: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """Decompose columns (n, q), float64, of points of equal or
        other weights (n,)."""
        weights = np.ones(len(columns)) if weights is None else weights
        mean = (weights[:, None] * columns).mean(0)
        centred = np.sqrt(weights)[:, None] * (columns - mean)
        values, v = np.linalg.eigh(centred.T @ centred)
        kept = values > max(RANK_TOLERANCE * values[-1], np.finfo(float).tiny)
        values, v = values[kept], v[:, kept]
        return cls(centred @ (v / np.sqrt(values)), values, v, mean, weights)

    def shrinkage(self, ridge: float) -> np.ndarray:
        """s^2 / (s^2 + lambda) of the directions, (r,)."""
        return self.values / (self.values + ridge * self.values.sum() / len(self.u))

    def leave_one_out(self, y: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Predictions of each label (n,) by all others, their mean squared error, and
        the lambda.

        Without any columns, or where every lambda fits some point exactly, the mean of
        the others predicts, and lambda is infinite.
        """
        n, root = len(y), np.sqrt(self.weights)
        centred = root * (y - (self.weights * y).mean())
        along, squares = self.u.T @ centred, self.u**2
        alone = centred / (1 - self.weights / n)
        best = y - alone / root, float(np.mean(alone**2)), np.inf
        for ridge in RIDGES if len(self.values) else ():
            shrinkage = self.shrinkage(ridge)
            leverage = self.weights / n + squares @ shrinkage
            if leverage.max() > LARGEST_LEVERAGE:
                continue
            residuals = (centred - self.u @ (shrinkage * along)) / (1 - leverage)
            if (error := float(np.mean(residuals**2))) < best[1]:
                best = y - residuals / root, error, float(ridge)
        return best

    def solve(self, y: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
        """Coefficients beta (q,) and intercept b of labels (n,)."""
        if np.isinf(ridge):
            return np.zeros_like(self.mean), float((self.weights * y).mean())
        mean = (self.weights * y).mean()
        along = self.u.T @ (np.sqrt(self.weights) * (y - mean))
        beta = self.v @ (self.shrinkage(ridge) / np.sqrt(self.values) * along)
        return beta, float(mean - self.mean @ beta)


@dataclass(frozen=True)
class Columns:
    """Columns of the regressions: the inputs, and tangent features of landmarks.

    Attributes
    ----------
    inputs, whole : RidgePath
        On the inputs alone, and on inputs and tangent features.
    network : Network
        f_{w_0}, whose tangent features these are.
    landmarks : Tensor, (m, d)
        Some of the points.
    span : ndarray, (m, r)
        Tangent features are kappa(x, landmarks) span, with orthonormal directions.
    scale : float
        Factor of the inputs next to the tangent features: both have the same variance
        in all.
    """

    inputs: RidgePath
    whole: RidgePath
    network: Network
    landmarks: Tensor
    span: np.ndarray
    scale: float

    @classmethod
    def of(
        cls,
        network: Network,
        x: Tensor,
        n_landmarks: int = N_LANDMARKS,
        seed: int = 0,
        weights: np.ndarray | None = None,
    ) -> Self:
        """Columns of points x (n, d).

        Landmarks are drawn from the stream ``landmarks``.
        """
        n = len(x)
        rows = stream(seed, "landmarks").choice(n, min(n_landmarks, n), replace=False)
        landmarks = x[torch.from_numpy(rows).to(x.device)]
        with torch.no_grad():
            own, some = extract(network, x)[0], extract(network, landmarks)[0]
            gram = some.kernel(some).double().cpu().numpy()
            cross = own.kernel(some).double().cpu().numpy()
        values, vectors = np.linalg.eigh(gram)
        # a kernel's own precision
        kept = values > values[-1] * 10 * np.finfo(np.float32).eps
        span = vectors[:, kept] / np.sqrt(values[kept])
        tangents, plain = cross @ span, x.double().cpu().numpy()
        variance = plain.var(0).sum()
        scale = (
            float(np.sqrt(tangents.var(0).sum() / variance)) if variance > 0 else 1.0
        )
        whole = np.column_stack([scale * plain, tangents])
        inputs, both = RidgePath.of(plain, weights), RidgePath.of(whole, weights)
        return cls(inputs, both, network, landmarks, span, scale)

    def leave_one_out(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Predictions of each label (n,) by all others, and their mean
        squared error."""
        return min(
            (p.leave_one_out(y)[:2] for p in (self.inputs, self.whole)),
            key=lambda f: f[1],
        )

    def fit(self, y: np.ndarray) -> "RidgeModel":
        """Fit labels (n,) by the columns and the lambda with the least leave-one-out
        error."""
        fits = [
            (path, *path.leave_one_out(y)[1:]) for path in (self.inputs, self.whole)
        ]
        path, error, ridge = min(fits, key=lambda found: found[1])
        beta, intercept = path.solve(y, ridge)
        d, tangents = len(self.inputs.mean), None
        if path is self.whole:
            beta[:d] *= self.scale
            along = torch.from_numpy(self.span @ beta[d:])[:, None].to(
                self.landmarks.device
            )
            with torch.enable_grad():
                tangents = Linearisation.along(self.network, self.landmarks, along)
        slopes = torch.from_numpy(beta[:d]).to(self.landmarks.device)
        return RidgeModel(slopes, intercept, tangents, ridge, error)


@dataclass(frozen=True)
class RidgeModel:
    """f(x) = intercept + slopes^T x + phi(x)^T V, a callable.

    Attributes
    ----------
    slopes : Tensor, (d,), float64
        Of the inputs.
    intercept : float
        b.
    tangents : Linearisation, or None
        One direction of the weights; None: the model is linear.
    ridge, error : float
        The chosen lambda, and the mean squared leave-one-out error.
    """

    slopes: Tensor
    intercept: float
    tangents: Linearisation | None
    ridge: float
    error: float

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (m,) of points (m, d), float64."""
        outputs = x.double() @ self.slopes + self.intercept
        return outputs if self.tangents is None else outputs + self.tangents(x)[1][:, 0]

    def to(self, device: torch.device | str) -> "RidgeModel":
        """The same on another device."""
        tangents = self.tangents and self.tangents.to(device)
        return RidgeModel(
            self.slopes.to(device), self.intercept, tangents, self.ridge, self.error
        )


def fit_ridge(
    network: Network,
    x: Tensor,
    y: Tensor,
    *,
    n_landmarks: int = N_LANDMARKS,
    seed: int = 0,
    weights: Tensor | None = None,
) -> RidgeModel:
    """Fit labels y (n,) of points x (n, d).

    ERM on the tangent features of a network at w_0.

    The tangent features of ``n_landmarks`` points, which ``seed`` draws, span those of
    the others. Points may have ``weights`` (n,), positive and of mean 1.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, build
    >>> from kerhrm.features.ridge import fit_ridge
    >>> x = torch.linspace(-2, 2, 50)[:, None]
    >>> network = build(NetworkOptions(widths=[64]), seed=0, d=1)
    >>> model = fit_ridge(network, x, x[:, 0] ** 2)
    >>> bool((model(x) - x[:, 0] ** 2).abs().max() < 0.1)
    True
    """
    given = None if weights is None else weights.double().cpu().numpy()
    return Columns.of(network, x, n_landmarks, seed, given).fit(
        y.double().cpu().numpy()
    )
