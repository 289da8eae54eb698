"""Reduced features and labels of one data set, the input of Algorithm 1, and the
squared losses of weighted points by their second moments."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.options import Task
from kerhrm.record import Record

#: entries of Psi that are weighted at once: 64 MB in float64
CHUNK = 2**23
#: of a mean of weights that is 1 but for rounding, in single precision, too
ROUNDING = 1e-6


class FeatureMap(Protocol):
    """Reduced features of training points, and a map of new ones."""

    @property
    def u(self) -> Tensor:
        """Left singular vectors (n, k)."""
        ...

    @property
    def s(self) -> Tensor:
        """Singular values (k,)."""
        ...

    @property
    def f0(self) -> Tensor:
        """Outputs (n,) of the untrained network."""
        ...

    def transform(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Reduced features (m, k) and f_0 (m,) of points (m, d)."""
        ...


@dataclass(frozen=True)
class Problem(Record):
    """Reduced features and labels of one data set, the input of Algorithm 1.

    No test points.

    Attributes
    ----------
    u, s : Tensor, (n, k), (k,)
        Truncated singular value decomposition of the training points' neural tangent
        features. float64, or float32 from a
        :class:`~kerhrm.features.nystroem.NystroemMap`.
    psi_validation : Tensor, (m, k)
        Reduced features of the validation points.
    f0_train, f0_validation : Tensor, (n,), (m,)
        Outputs of the untrained network.
    y, y_validation : Tensor, (n,), (m,)
        Labels; -1 and +1 in classification.
    task : "classification" or "regression"
        What is learned.
    seed : int
        Names the random streams of the initialisations.
    weights, weights_validation : Tensor, (n,), (m,), optional
        Of the points: sums over points become weighted sums.  Those of the training
        points have mean 1, the others are in their unit.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, NTFMap, Problem, build
    >>> x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    >>> network = build(NetworkOptions(widths=[8]), seed=0, d=2)
    >>> features = NTFMap.fit(network, x[:40], k=4)
    >>> problem = Problem.from_features(
    ...     features, x[40:], y=x[:40, 0], y_validation=x[40:, 0],
    ...     task="regression", seed=0)
    >>> problem.reduced(2)[0].shape
    torch.Size([40, 2])
    """

    u: Tensor
    s: Tensor
    psi_validation: Tensor
    f0_train: Tensor
    f0_validation: Tensor
    y: Tensor
    y_validation: Tensor
    task: Task
    seed: int
    weights: Tensor | None = None
    weights_validation: Tensor | None = None

    @classmethod
    def from_features(
        cls,
        feature_map: FeatureMap,
        x_validation: Tensor,
        y: Tensor,
        y_validation: Tensor,
        task: Task,
        seed: int,
        weights: tuple[Tensor | None, Tensor | None] = (None, None),
    ) -> Self:
        """Problem of the points that a feature map was fitted on.

        Labels become float64.

        Parameters
        ----------
        feature_map : FeatureMap
            Fitted on the training points.
        x_validation : Tensor, (m, d)
            Validation points.
        y, y_validation : Tensor, (n,), (m,)
            Labels of both.
        task : "classification" or "regression"
            What is learned.
        seed : int
            Names the random streams of the initialisations.
        weights : two Tensors, (n,) and (m,), optional
            Weights of training and validation points, 0 or more.  Both are divided by
            the mean of the training points' ones, so that their common unit does not
            matter; without those a validation point of weight 1 counts as a training
            point does.

        Returns
        -------
        Problem
            The input of Algorithm 1.

        Raises
        ------
        KerhrmError
            If there is not one label, and one weight, for each point; or weights are
            negative, not finite, or all 0.
        """
        of_train, of_validation = weights
        _check_labels(feature_map.u, y, of_train)
        _check_labels(x_validation, y_validation, of_validation)
        weights_train, weights_validation = _in_unit_of_training(
            of_train, of_validation
        )
        psi_validation, f0_validation = feature_map.transform(x_validation)
        return cls(
            u=feature_map.u,
            s=feature_map.s,
            psi_validation=psi_validation,
            f0_train=feature_map.f0,
            f0_validation=f0_validation,
            y=y.double(),
            y_validation=y_validation.double(),
            task=task,
            seed=seed,
            weights=weights_train,
            weights_validation=weights_validation,
        )

    @property
    def counts(self) -> tuple[Tensor, Tensor]:
        """Weights (n,) and (m,), float64; ones where there are none."""
        return (
            _weights_or_ones(self.weights, self.y),
            _weights_or_ones(self.weights_validation, self.y_validation),
        )

    @property
    def validation_counts(self) -> Tensor:
        """Weights (m,) of the validation points among themselves, of mean 1."""
        _, counts = self.counts
        if self.weights_validation is None:
            return counts
        return counts / counts.mean()

    @property
    def psi_train(self) -> Tensor:
        """Psi = U S, (n, k)."""
        return self.u * self.s

    def reduced(self, k: int) -> tuple[Tensor, Tensor]:
        """First k columns of Psi, of the training (n, k) and validation points (m, k),
        float64."""
        u = self.u[:, :k].double()
        s = self.s[:k].double()
        train = u * s
        validation = self.psi_validation[:, :k].double()
        return train, validation

    @property
    def target(self) -> Tensor:
        """y - f_0 of the training points, float64: what psi^T theta has to explain."""
        residuals = self.y - self.f0_train
        return residuals.double()

    @property
    def target_validation(self) -> Tensor:
        """y - f_0 of the validation points, float64."""
        residuals = self.y_validation - self.f0_validation
        return residuals.double()


def _check_labels(points: Tensor, labels: Tensor, weights: Tensor | None) -> None:
    """Refuse labels, or weights, that are not one for each point; and weights that
    nothing can be weighed by."""
    n_points = len(points)
    if labels.shape != (n_points,):
        shape = tuple(labels.shape)
        problem = f"labels {shape} do not fit {len(points)} points"
        raise KerhrmError(problem, "give one label for each point")
    if weights is None:
        return
    if weights.shape != (n_points,):
        shape = tuple(weights.shape)
        problem = f"weights {shape} do not fit {n_points} points"
        raise KerhrmError(problem, "give one weight for each point")
    usable = weights.isfinite() & (weights >= 0)
    if not bool(usable.all()):
        value = float(weights[~usable][0])
        problem = f"weights must be finite and not negative; got {value:g}"
        raise KerhrmError(problem, "leave such points out")
    if not bool((weights > 0).any()):
        raise KerhrmError("all weights are 0", "give some points a weight above 0")


def _in_unit_of_training(
    train: Tensor | None, validation: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """Weights (n,) and (m,) in units of the mean of the training points' ones."""
    if train is None:
        return train, validation
    unit = train.double().mean()
    if abs(float(unit) - 1) <= ROUNDING:
        return train, validation
    in_unit = train.double() / unit
    if validation is None:
        return in_unit, None
    return in_unit, validation.double() / unit


def _weights_or_ones(weights: Tensor | None, y: Tensor) -> Tensor:
    """Weights of points with labels (n,), float64; ones where there are none."""
    if weights is None:
        ones = torch.ones_like(y)
        return ones.double()
    return weights.double()


@dataclass(frozen=True)
class Risks:
    """Squared losses L^e(theta) = theta^T A_e theta - 2 b_e^T theta + c_e of K
    environments.

    Attributes
    ----------
    second, cross, constant : Tensor, (K, k, k), (K, k), (K,)
        A_e, b_e and c_e.
    weights : Tensor, (K,)
        w_e, which sum to one; 0 for environments without any point.
    rho : Tensor, ()
        Ridge of the pooled risk ``sum_e w_e L^e + rho |theta|^2``.
    """

    second: Tensor
    cross: Tensor
    constant: Tensor
    weights: Tensor
    rho: Tensor

    def mean(self, values: Tensor) -> Tensor:
        """Weighted mean sum_e w_e v_e of values (K, ...)."""
        return torch.tensordot(self.weights, values, 1)

    def losses(self, theta: Tensor) -> Tensor:
        """L^e(theta) (K,) of a direction theta (k,)."""
        bent = self.second @ theta
        slopes = bent - 2 * self.cross
        return slopes @ theta + self.constant

    @property
    def pooled(self) -> tuple[Tensor, Tensor]:
        """A + rho I (k, k) and b (k,) of the pooled risk."""
        k = self.cross.shape[-1]
        eye = torch.eye(k, dtype=self.cross.dtype, device=self.cross.device)
        ridge = self.rho * eye
        matrix = self.mean(self.second) + ridge
        mean_cross = self.mean(self.cross)
        return matrix, mean_cross


def weighted_moments(psi: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Psi^T R_j Psi (J, k, k) and Psi^T R_j y (J, k) with R_j = diag(weights_j).

    Of points (n, k), (n,) and J weightings (J, n), in chunks of points, so that no
    second n x k array is made.
    """
    k = psi.shape[-1]
    n_weightings = len(weights)
    second = psi.new_zeros(n_weightings, k, k)
    for rows in _chunks(psi):
        chunk = psi[rows]
        for j, weighting in enumerate(weights):
            factors = weighting[rows, None]
            weighted = chunk * factors
            second[j] += weighted.mT @ chunk
    weighted_labels = weights * y
    cross = weighted_labels @ psi
    return second, cross


def _chunks(psi: Tensor) -> Iterator[slice]:
    """Slices of points whose rows of psi have at most ``CHUNK`` entries."""
    n = len(psi)
    n_entries = max(1, psi.numel())
    n_rows = CHUNK * n // n_entries
    step = max(1, n_rows)
    for first in range(0, n, step):
        yield slice(first, first + step)
