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

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from kerhrm.features.design import ROWS, Block, Design
from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import TangentFeatures, extract
from kerhrm.features.options import N_LANDMARKS
from kerhrm.networks.base import Network
from kerhrm.randomness import stream
from kerhrm.threads import one_blas_thread

RIDGES = np.logspace(-6, 4, 21)  #: lambda, in units of the columns' mean square norm
RANK_TOLERANCE = 1e-10  #: of eigenvalues, as a share of the largest
LARGEST_LEVERAGE = 1 - 1e-6  #: beyond it a point is fitted whatever its label
#: above them, and above twice the points, the decomposition is that of the points
MANY_COLUMNS = 2000


@dataclass(frozen=True)
class RidgePath:
    """Ridge regressions of n points on q columns, for every lambda and any labels.

    Attributes
    ----------
    design : Design
        The columns.
    values, v : ndarray, (r,), (q, r)
        Of the centred columns: squared singular values, and right singular vectors.
    mean : ndarray, (q,)
        Of the columns.
    weights : ndarray, (n,)
        Of the points, of mean 1; sums over points are weighted sums, and left singular
        vectors have a factor of the weights' square root.
    units : ndarray, (n,)
        Equal draws that each point stands for: one of them is left out at a time.
    """

    design: Design
    values: np.ndarray
    v: np.ndarray
    mean: np.ndarray
    weights: np.ndarray
    units: np.ndarray

    @classmethod
    def of(
        cls,
        columns: Design | np.ndarray,
        weights: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> Self:
        """Decompose columns (n, q), of points of equal or other weights (n,) that are
        one draw each, or so many units (n,)."""
        design = columns if isinstance(columns, Design) else Design(columns)
        n = len(design)
        weights = np.ones(n) if weights is None else weights
        units = np.ones(n) if units is None else units
        with one_blas_thread():
            mean = design.sums(weights) / n
            root = np.sqrt(weights)[:, None]
            centred = (
                (rows, root[rows] * (block - mean)) for rows, block in design.blocks()
            )
            if len(mean) > max(MANY_COLUMNS, 2 * n):
                values, v = _by_points(centred)
            else:
                second = np.zeros((len(mean), len(mean)))
                for _, block in centred:
                    second += block.T @ block
                values, v = np.linalg.eigh(second)
        kept = values > max(RANK_TOLERANCE * values[-1], np.finfo(float).tiny)
        return cls(design, values[kept], v[:, kept], mean, weights, units)

    @cached_property
    def u(self) -> np.ndarray:
        """Left singular vectors, (n, r)."""
        return np.concatenate([left for _, left in self._computed_left()])

    def _left_blocks(self) -> Iterator[Block]:
        """Rows and their left singular vectors, of all points in order."""
        if len(self.design) <= ROWS:
            yield slice(0, len(self.design)), self.u
        else:
            yield from self._computed_left()

    def _computed_left(self) -> Iterator[Block]:
        directions = self.v / np.sqrt(self.values)
        for rows, left in self.design.times(directions, self.mean):
            left *= np.sqrt(self.weights[rows])[:, None]
            yield rows, left

    def shrinkage(self, ridge: float) -> np.ndarray:
        """s^2 / (s^2 + lambda) of the directions, (r,)."""
        norm = self.values.sum() / len(self.design)
        return self.values / (self.values + ridge * norm)

    def _centred(self, y: np.ndarray) -> np.ndarray:
        return np.sqrt(self.weights) * (y - (self.weights * y).mean())

    def _along(self, y: np.ndarray) -> np.ndarray:
        """Coordinates U^T y (r,) of labels (n,)."""
        centred = self._centred(y)
        along = np.zeros(len(self.values))
        for rows, u in self._left_blocks():
            along += u.T @ centred[rows]
        return along

    def choose(self, y: np.ndarray) -> tuple[float, float]:
        """The lambda with the least leave-one-out error of labels (n,), and that error.

        Without any columns, or where every lambda fits some point exactly, the mean of
        the others predicts, and lambda is infinite.
        """
        n = len(y)
        centred = self._centred(y)
        own = self.weights / n / self.units
        best = np.inf, float(np.mean((centred / (1 - own)) ** 2))
        if not len(self.values):
            return best
        with one_blas_thread():
            along = self._along(y)[:, None]
            shrinkages = np.column_stack([self.shrinkage(ridge) for ridge in RIDGES])
            squares, leverage = np.zeros(len(RIDGES)), np.zeros(len(RIDGES))
            for rows, u in self._left_blocks():
                h = self.weights[rows, None] / n + u**2 @ shrinkages
                h /= self.units[rows, None]
                residuals = centred[rows, None] - u @ (shrinkages * along)
                leverage = np.maximum(leverage, h.max(0))
                with np.errstate(divide="ignore", invalid="ignore"):
                    squares += ((residuals / (1 - h)) ** 2).sum(0)
        for ridge, error, highest in zip(RIDGES, squares / n, leverage, strict=True):
            if highest <= LARGEST_LEVERAGE and error < best[1]:
                best = float(ridge), float(error)
        return best

    def leave_one_out(self, y: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Predictions of each label (n,) by all others, their mean squared error, and
        the lambda."""
        ridge, error = self.choose(y)
        return self.left_out(y, ridge), error, ridge

    def left_out(self, y: np.ndarray, ridge: float) -> np.ndarray:
        """Predictions of each label (n,) by all others, with a lambda."""
        n, root = len(y), np.sqrt(self.weights)
        centred = self._centred(y)
        if np.isinf(ridge):
            own = self.weights / n / self.units
            return np.asarray(y - centred / (1 - own) / root)
        predictions, shrinkage = np.empty(n), self.shrinkage(ridge)
        with one_blas_thread():
            along = self._along(y)
            for rows, u in self._left_blocks():
                h = (self.weights[rows] / n + u**2 @ shrinkage) / self.units[rows]
                h = np.minimum(h, LARGEST_LEVERAGE)
                residuals = (centred[rows] - u @ (shrinkage * along)) / (1 - h)
                predictions[rows] = y[rows] - residuals / root[rows]
        return predictions

    def solve(self, y: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
        """Coefficients beta (q,) and intercept b of labels (n,)."""
        mean = (self.weights * y).mean()
        if np.isinf(ridge):
            return np.zeros_like(self.mean), float(mean)
        with one_blas_thread():
            along = self._along(y)
            beta = self.v @ (self.shrinkage(ridge) / np.sqrt(self.values) * along)
        return beta, float(mean - self.mean @ beta)


def _by_points(centred: Iterator[Block]) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n,) of Z^T Z and its eigenvectors (q, n), by those of Z Z^T (n, n).

    Of vectors with eigenvalue zero only the length may be wrong; nobody keeps them.
    """
    z = np.concatenate([block for _, block in centred])
    values, u = np.linalg.eigh(z @ z.T)
    return values, z.T @ (u / np.sqrt(np.maximum(values, np.finfo(float).tiny)))


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
        units: np.ndarray | None = None,
    ) -> Self:
        """Columns of points x (n, d), with weights and units (n,) as in
        :class:`RidgePath`.

        Landmarks are drawn from the stream ``landmarks``.
        """
        n = len(x)
        rows = stream(seed, "landmarks").choice(n, min(n_landmarks, n), replace=False)
        landmarks = x[torch.from_numpy(rows).to(x.device)]
        with torch.no_grad(), one_blas_thread():
            some = extract(network, landmarks)[0]
            gram = some.kernel(some).double().cpu().numpy()
            values, vectors = np.linalg.eigh(gram)
            # a kernel's own precision
            kept = values > values[-1] * 10 * np.finfo(np.float32).eps
            span = vectors[:, kept] / np.sqrt(values[kept])
            cross = _kernel(network, x, some)
            inputs = x.cpu().numpy()
            plain = Design(inputs)
            tangents = Design(inputs[:, :0], kernel=cross, span=span)
            variance, scale = plain.variance(), 1.0
            if variance > 0:
                scale = float(np.sqrt(tangents.variance() / variance))
            whole = Design(inputs, scale, cross, span)
            inside = RidgePath.of(plain, weights, units)
            both = RidgePath.of(whole, weights, units)
        return cls(inside, both, network, landmarks, span, scale)

    def leave_one_out(self, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Predictions of each label (n,) by all others, and their mean squared error.

        By the columns and the lambda with the least of these errors.
        """
        return min(
            (p.leave_one_out(y)[:2] for p in (self.inputs, self.whole)),
            key=lambda f: f[1],
        )

    def less_smoothed(self, y: np.ndarray, share: float) -> np.ndarray:
        """Predictions of each label (n,) by all others.

        By all columns, and a share of the lambda with the least leave-one-out error:
        with less bias than the least error has, and more variance.
        """
        ridge, _ = self.whole.choose(y)
        return self.whole.left_out(y, share * ridge)

    def fit(self, y: np.ndarray) -> "RidgeModel":
        """Fit labels (n,) by the columns and the lambda with the least leave-one-out
        error."""
        choices = [(path, *path.choose(y)) for path in (self.inputs, self.whole)]
        path, ridge, error = min(choices, key=lambda choice: choice[2])
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


def _kernel(network: Network, x: Tensor, landmarks: TangentFeatures) -> np.ndarray:
    """kappa(x, landmarks), (n, m), of points (n, d), :data:`ROWS` of them at a time."""
    parts = (extract(network, points)[0].kernel(landmarks) for points in x.split(ROWS))
    first = next(parts).cpu().numpy()
    kernel = np.empty((len(x), first.shape[1]), first.dtype)
    kernel[: len(first)] = first
    for start, part in zip(range(ROWS, len(x), ROWS), parts, strict=True):
        kernel[start : start + ROWS] = part.cpu().numpy()
    return kernel


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
    units: Tensor | None = None,
) -> RidgeModel:
    """Fit labels y (n,) of points x (n, d).

    ERM on the tangent features of a network at w_0.

    The tangent features of ``n_landmarks`` points, which ``seed`` draws, span those of
    the others. Points may have ``weights`` (n,), positive and of mean 1, and stand for
    so many equal draws, ``units`` (n,), one of which is left out at a time.

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
    given = (None if w is None else w.double().cpu().numpy() for w in (weights, units))
    columns = Columns.of(network, x, n_landmarks, seed, *given)
    return columns.fit(y.double().cpu().numpy())
