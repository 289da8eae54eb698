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

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from kerhrm.features.design import ROWS, Design
from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import TangentFeatures, extract
from kerhrm.features.options import N_LANDMARKS
from kerhrm.features.ridge_path import RidgePath
from kerhrm.networks.base import Network
from kerhrm.progress import progress
from kerhrm.randomness import drawn_landmarks
from kerhrm.threads import one_blas_thread


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
    def extract(
        cls,
        network: Network,
        x: Tensor,
        n_landmarks: int = N_LANDMARKS,
        seed: int = 0,
        weights: np.ndarray | None = None,
        units: np.ndarray | None = None,
    ) -> Self:
        """Extract the columns of points.

        Parameters
        ----------
        network : Network
            f_{w_0}.
        x : Tensor, (n, d)
            Points.
        n_landmarks : int
            Number of points whose tangent features span the others'.
        seed : int
            Of the stream ``landmarks``, which draws them.
        weights, units : ndarray, (n,), optional
            Of the points, as in :class:`RidgePath`.
        """
        n = len(x)
        m = min(n_landmarks, n)
        drawn = drawn_landmarks(seed, n, m)
        landmarks = x[torch.from_numpy(drawn).to(x.device)]
        with torch.no_grad(), one_blas_thread():
            features, _ = extract(network, landmarks)
            span = _orthonormal_span(features)
            kernel = _kernel(network, x, features)
            inputs = x.cpu().numpy()
            plain = Design(inputs)
            tangents = Design(inputs[:, :0], kernel=kernel, span=span)
            variance = plain.variance()
            scale = 1.0
            if variance > 0:
                ratio = tangents.variance() / variance
                scale = float(np.sqrt(ratio))
            both = Design(inputs, scale=scale, kernel=kernel, span=span)
            return cls(
                inputs=RidgePath.decompose(plain, weights, units),
                whole=RidgePath.decompose(both, weights, units),
                network=network,
                landmarks=landmarks,
                span=span,
                scale=scale,
            )

    def leave_one_out(self, y: np.ndarray) -> np.ndarray:
        """Predictions of each label (n,) by all others.

        By the columns and the lambda with the least mean squared error.
        """
        by_inputs, error_of_inputs = self.inputs.leave_one_out(y)
        by_whole, error_of_whole = self.whole.leave_one_out(y)
        if error_of_whole < error_of_inputs:
            return by_whole
        return by_inputs

    def less_smoothed(self, y: np.ndarray, share: float) -> np.ndarray:
        """Predictions of each label (n,) by all others.

        By all columns, and a share of the lambda with the least leave-one-out error:
        with less bias than the least error has, and more variance.
        """
        ridge, _ = self.whole.choose(y)
        smaller_ridge = share * ridge
        return self.whole.left_out(y, smaller_ridge)

    def left_out(self, model: "RidgeModel", y: np.ndarray) -> np.ndarray:
        """Predictions of each label (n,) by all others, with the columns and the
        lambda of a model of :meth:`fit`."""
        path = self.inputs if model.tangents is None else self.whole
        return path.left_out(y, model.ridge)

    @torch.inference_mode(False)  # gradients, also where the caller has none
    def fit(self, y: np.ndarray) -> "RidgeModel":
        """Fit labels (n,) by the columns and the lambda with the least leave-one-out
        error."""
        path = self.inputs
        ridge, error = self.inputs.choose(y)
        ridge_of_whole, error_of_whole = self.whole.choose(y)
        if error_of_whole < error:
            path = self.whole
            ridge = ridge_of_whole
            error = error_of_whole
        beta, intercept = path.solve(y, ridge)
        d = len(self.inputs.mean)
        device = self.landmarks.device
        tangents = None
        if path is self.whole:
            beta[:d] *= self.scale
            of_tangents = beta[d:]
            of_landmarks = torch.from_numpy(self.span @ of_tangents)
            coefficients = of_landmarks[:, None].to(device)
            tangents = Linearisation.along(self.network, self.landmarks, coefficients)
        slopes = torch.from_numpy(beta[:d])
        return RidgeModel(
            slopes=slopes.to(device),
            intercept=intercept,
            tangents=tangents,
            ridge=ridge,
            error=error,
        )


def _orthonormal_span(landmarks: TangentFeatures) -> np.ndarray:
    """Coefficients (m, r) of orthonormal directions in the landmarks' features."""
    kernel = landmarks.kernel(landmarks)
    gram = kernel.double().cpu().numpy()
    eigenvalues, vectors = np.linalg.eigh(gram)
    kernel_precision = 10 * np.finfo(np.float32).eps
    floor = eigenvalues[-1] * kernel_precision
    kept = eigenvalues > floor
    kept_values = eigenvalues[kept]
    lengths = np.sqrt(kept_values)
    kept_vectors = vectors[:, kept]
    span = kept_vectors / lengths
    return np.asarray(span)


def _kernel(network: Network, x: Tensor, landmarks: TangentFeatures) -> np.ndarray:
    """kappa(x, landmarks), (n, m), of points (n, d), :data:`ROWS` of them at a time."""
    n = len(x)
    kernel: np.ndarray | None = None
    starts = range(0, n, ROWS)
    for start in progress(starts, "blocks of points"):
        stop = start + ROWS
        rows = slice(start, stop)
        features, _ = extract(network, x[rows])
        kernel_of_rows = features.kernel(landmarks)
        block = kernel_of_rows.cpu().numpy()
        if kernel is None:
            _, m = block.shape
            kernel = np.empty((n, m), block.dtype)
        kernel[rows] = block
    assert kernel is not None  # there are points
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
        points = x.double()
        outputs = points @ self.slopes + self.intercept
        if self.tangents is None:
            return outputs
        _, along = self.tangents(x)
        of_tangents = along[:, 0]
        return outputs + of_tangents

    def to(self, device: torch.device | str) -> "RidgeModel":
        """The same on another device."""
        slopes = self.slopes.to(device)
        tangents = self.tangents
        if tangents is not None:
            tangents = tangents.to(device)
        return replace(self, slopes=slopes, tangents=tangents)


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
    """Fit labels by ERM on the tangent features of a network at w_0.

    Parameters
    ----------
    network : Network
        f_{w_0}.
    x : Tensor, (n, d)
        Points.
    y : Tensor, (n,)
        Labels.
    n_landmarks : int
        Number of points whose tangent features span those of the others.
    seed : int
        Draws these points.
    weights : Tensor, (n,), optional
        Of the points, positive and of mean 1.
    units : Tensor, (n,), optional
        Equal draws that each point stands for, one of which is left out at a time.

    Returns
    -------
    RidgeModel
        With the columns and the lambda of least leave-one-out error.

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
    columns = Columns.extract(
        network,
        x,
        n_landmarks=n_landmarks,
        seed=seed,
        weights=_array(weights),
        units=_array(units),
    )
    labels = y.double().cpu().numpy()
    return columns.fit(labels)


def _array(tensor: Tensor | None) -> np.ndarray | None:
    """A tensor in double precision, or None as it is."""
    if tensor is None:
        return None
    return tensor.double().cpu().numpy()
