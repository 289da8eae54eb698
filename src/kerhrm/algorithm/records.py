"""Plain records of one data set.

The input of Algorithm 1, and the results of its steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self, get_args

import numpy as np
import torch
from torch import Tensor

from kerhrm.errors import KerhrmError
from kerhrm.options import Task

#: share of the largest weight that a weight of zero becomes: such points have
#: environments, too
NO_WEIGHT = 1e-12


class Record:
    """Base of frozen dataclasses of tensors, arrays, numbers and strings."""

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all fields as arrays, for a file."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        values = {name: getattr(self, name) for name in names}
        values = {name: value for name, value in values.items() if value is not None}
        return {
            name: np.asarray(v.detach().cpu().numpy() if isinstance(v, Tensor) else v)
            for name, v in values.items()
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], device: torch.device | str | None = None
    ) -> Self:
        """Rebuild the record that :meth:`arrays` came from, with its tensors on a
        device."""
        values: dict[str, Any] = {}
        for field in fields(cls):  # type: ignore[arg-type]
            if field.name not in arrays and field.default is None:
                continue
            array = np.asarray(arrays[field.name])
            kinds = get_args(field.type) or (field.type,)
            if Tensor in kinds:
                values[field.name] = torch.from_numpy(array).to(device)
            else:
                values[field.name] = array if np.ndarray in kinds else array.item()
        return cls(**values)


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
        Of the points, of mean 1: sums over points become weighted sums.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import NetworkOptions, NTFMap, Problem, build
    >>> x = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    >>> network = build(NetworkOptions(widths=[8]), seed=0, d=2)
    >>> features = NTFMap.fit(network, x[:40], k=4)
    >>> parts = x[40:], x[:40, 0], x[40:, 0]
    >>> problem = Problem.from_features(features, *parts, "regression", seed=0)
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
        weights: Tensor | None = None,
        weights_validation: Tensor | None = None,
    ) -> Self:
        """Problem of the points that a feature map was fitted on.

        Labels become float64.

        Validation points are (m, d); all else as the attributes.

        Raises
        ------
        KerhrmError
            If there is not one label for each point.
        """
        for points, labels in ((feature_map.u, y), (x_validation, y_validation)):
            if labels.shape != (len(points),):
                problem = (
                    f"labels {tuple(labels.shape)} do not fit {len(points)} points"
                )
                raise KerhrmError(problem, "give one label for each point")
        psi, f0 = feature_map.transform(x_validation)
        reduced = feature_map.u, feature_map.s, psi, feature_map.f0, f0
        doubles = y.double(), y_validation.double()
        return cls(*reduced, *doubles, task, seed, weights, weights_validation)

    @property
    def counts(self) -> tuple[Tensor, Tensor]:
        """Weights (n,) and (m,), float64; ones where there are none."""
        given = (self.weights, self.y), (self.weights_validation, self.y_validation)
        one, other = (
            torch.ones_like(y).double() if w is None else w.double() for w, y in given
        )
        return one, other

    @property
    def psi_train(self) -> Tensor:
        """Psi = U S, (n, k)."""
        return self.u * self.s

    def reduced(self, k: int) -> tuple[Tensor, Tensor]:
        """First k columns of Psi, of the training (n, k) and validation points (m, k),
        float64."""
        return self.u[:, :k].double() * self.s[:k].double(), self.psi_validation[
            :, :k
        ].double()

    @property
    def target(self) -> Tensor:
        """y - f_0 of the training points, float64: what psi^T theta has to explain."""
        return (self.y - self.f0_train).double()

    @property
    def target_validation(self) -> Tensor:
        """y - f_0 of the validation points, float64."""
        return (self.y_validation - self.f0_validation).double()


@dataclass(frozen=True)
class Memberships(Record):
    """Environments of G candidate dimensions k: all that M_p reads of them.

    Attributes
    ----------
    k : Tensor, (G,), int64
        Candidate dimensions.
    train, validation : Tensor, (G, n, K), (G, m, K)
        Memberships of the points, times their weights; 0 in dropped (empty)
        environments.
    degenerate : Tensor, (G,), bool
        True if every initialisation was degenerate.
    """

    k: Tensor
    train: Tensor
    validation: Tensor
    degenerate: Tensor

    @classmethod
    def stack(cls, candidates: Sequence[Self]) -> Self:
        """Candidates, with fields without the leading G, as one record."""
        names = [f.name for f in fields(cls)]
        return cls(
            **{n: torch.stack([getattr(c, n) for c in candidates]) for n in names}
        )

    def candidate(self, k: int) -> Self:
        """Return the candidate of dimension k, with fields without the leading G."""
        g = self.k.tolist().index(k)
        return type(self)(**{f.name: getattr(self, f.name)[g] for f in fields(self)})


@dataclass(frozen=True)
class Environments(Memberships):
    """Inferred environments, and the mixtures that infer them.

    Environment j of candidate g expects the target ``slopes[g, j] @ psi + intercept[g,
    j]``.

    Attributes
    ----------
    slopes : Tensor, (G, K, k_max)
        Coefficients of psi, zero beyond k; (G, K, d) of the inputs where these are
        clustered. Directions taken out of Psi are taken out of them.
    intercept, weights, sigma : Tensor, (G, K)
        Intercept, share of the points and standard deviation of the noise of each
        environment.
    occupied : Tensor, (G, K), bool
        False for dropped environments.
    ridge, held_out, objective, label_information : Tensor, (G,)
        Of the chosen mixture: its ridge, its held-out log-likelihood and its objective
        in nats per point, and its normalised mutual information with the label.
    n_starts, n_label_split, n_empty, n_unconverged : Tensor, (G,), int64
        Number of mixtures fitted; of those that repeat the label, have fewer than two
        occupied environments, or had not converged.
    """

    slopes: Tensor
    intercept: Tensor
    weights: Tensor
    sigma: Tensor
    occupied: Tensor
    ridge: Tensor
    held_out: Tensor
    objective: Tensor
    label_information: Tensor
    n_starts: Tensor
    n_label_split: Tensor
    n_empty: Tensor
    n_unconverged: Tensor

    def probabilities(self, k: int, means: Tensor, target: Tensor) -> Tensor:
        """P(environment | psi, target) of new points under the mixture of dimension k.

        Shapes (m, K).

        Of ``means`` (m, K), ``psi @ slopes.T`` without intercepts, and targets (m,): y
        - f_0, or y where labels were clustered.  0 in dropped environments.
        """
        joint = self._log_joint(k, means, target)
        return torch.softmax(joint, -1) * self.candidate(k).occupied

    def log_likelihoods(self, k: int, means: Tensor, target: Tensor) -> Tensor:
        """log p(target | psi) of new points, as above, in nats: (m,)."""
        return torch.logsumexp(self._log_joint(k, means, target), -1)

    def _log_joint(self, k: int, means: Tensor, target: Tensor) -> Tensor:
        """Up to a constant."""
        one = self.candidate(k)
        residuals = (target[:, None] - one.intercept - means) / one.sigma
        return one.weights.log() - one.sigma.log() - 0.5 * residuals**2


def of_occupied(memberships: Tensor, occupied: Tensor) -> np.ndarray:
    """Memberships (n, K) in the occupied environments; each row sums to one."""
    r = memberships[:, occupied]
    total = r.sum(-1, keepdim=True)
    return torch.where(total > 0, r / total, 1 / r.shape[-1]).cpu().numpy()


@dataclass(frozen=True)
class Direction(Record):
    """An invariant direction.

    Attributes
    ----------
    theta : Tensor, (k_max,)
        Coefficients of the reduced features, zero beyond k.
    k : int
        Dimension.
    alpha : float
        Weight of the penalty, in its unit.
    score : float
        By the selection rule.
    iteration : int
        From 1; 0 for ERM, where no environments were detected.
    """

    theta: Tensor
    k: int
    alpha: float
    score: float
    iteration: int

    def predict(self, psi: Tensor, f0: Tensor) -> Tensor:
        """Outputs f_0(x) + psi(x)^T theta (m,) of points (m, k_max), (m,)."""
        return predict_linear(self.theta, psi, f0)


@dataclass(frozen=True)
class Directions(Record):
    """Invariant directions of C candidates (k, alpha) over the environments of one
    iteration.

    Attributes
    ----------
    theta : Tensor, (C, k_max)
        Zero beyond a candidate's k.
    k, alpha, score : Tensor, (C,)
        Dimension, weight of the penalty, and score by the selection rule.
    chosen : int
        Index of the candidate with the best score.
    """

    theta: Tensor
    k: Tensor
    alpha: Tensor
    score: Tensor
    chosen: int

    def winner(self, iteration: int) -> Direction:
        """Return the chosen candidate, as the direction of an iteration."""
        c = self.chosen
        k, alpha, score = int(self.k[c]), float(self.alpha[c]), float(self.score[c])
        return Direction(self.theta[c], k, alpha, score, iteration)


def predict_linear(theta: Tensor, psi: Tensor, f0: Tensor) -> Tensor:
    """Outputs f_0(x) + psi(x)^T theta of points (m, k), (m,), in the precision of psi.

    Of one direction (k,), or C of them (C, k): (m,) or (C, m).
    """
    return f0 + theta.to(psi.dtype) @ psi.mT
