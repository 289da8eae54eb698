"""Results of the steps of Algorithm 1: environments and directions."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import torch
from torch import Tensor

from kerhrm.record import Record

#: share of the largest weight up to which a weight counts as zero
NO_WEIGHT = 1e-12


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
        stacked = {}
        for field in fields(cls):
            of_candidates = [getattr(candidate, field.name) for candidate in candidates]
            stacked[field.name] = torch.stack(of_candidates)
        return cls(**stacked)

    def candidate(self, k: int) -> Self:
        """Return the candidate of dimension k, with fields without the leading G."""
        dimensions = self.k.tolist()
        g = dimensions.index(k)
        of_candidate = {f.name: getattr(self, f.name)[g] for f in fields(self)}
        return type(self)(**of_candidate)


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
        shares = torch.softmax(joint, -1)
        occupied = self.candidate(k).occupied
        return shares * occupied

    def log_likelihoods(self, k: int, means: Tensor, target: Tensor) -> Tensor:
        """log p(target | psi) of new points, as above: (m,).

        In nats, up to the constant log(2 pi) / 2, which is left out.
        """
        joint = self._log_joint(k, means, target)
        return torch.logsumexp(joint, -1)

    def _log_joint(self, k: int, means: Tensor, target: Tensor) -> Tensor:
        """Up to a constant."""
        mixture = self.candidate(k)
        differences = target[:, None] - mixture.intercept - means
        residuals = differences / mixture.sigma
        level = mixture.weights.log() - mixture.sigma.log()
        distances = 0.5 * residuals**2
        return level - distances


def of_occupied(memberships: Tensor, occupied: Tensor) -> np.ndarray:
    """Memberships (n, K) in the occupied environments; each row sums to one."""
    r = memberships[:, occupied]
    total = r.sum(-1, keepdim=True)
    equal = 1 / r.shape[-1]
    shares = torch.where(total > 0, r / total, equal)
    return shares.cpu().numpy()


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
        By the selection rule, over the environments of all iterations where these are
        compared (:func:`~kerhrm.algorithm.loop.select_iteration`), else of those up to
        its own; with auxiliary columns minus the extrapolated risk.
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
        Dimension, weight of the penalty, and score by the selection rule over the
        environments up to this iteration's; with auxiliary columns minus the
        extrapolated risk.
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
        return Direction(
            theta=self.theta[c],
            k=int(self.k[c]),
            alpha=float(self.alpha[c]),
            score=float(self.score[c]),
            iteration=iteration,
        )


def predict_linear(theta: Tensor, psi: Tensor, f0: Tensor) -> Tensor:
    """Outputs f_0(x) + psi(x)^T theta of points (m, k), (m,), in the precision of psi.

    Of one direction (k,), or C of them (C, k): (m,) or (C, m).
    """
    coefficients = theta.to(psi.dtype)
    return f0 + coefficients @ psi.mT
