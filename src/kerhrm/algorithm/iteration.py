"""Step "M_p" of an iteration: invariant directions of all candidates, and the choice."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.invariant import invariant_direction
from kerhrm.algorithm.selection import Task, point_scores, worst_environment_score
from kerhrm.config.schema import Invariance
from kerhrm.records import Record


@dataclass(frozen=True)
class Directions(Record):
    """Invariant directions of B seeds and C candidates, and the one chosen.

    Attributes
    ----------
    theta : Tensor, (B, C, k_max), zero beyond the candidate's k
    k : Tensor, (B, C), int64
    alpha : Tensor, (B, C), in units of 1 / (mean eigenvalue of Psi^T Psi / n)
    score : Tensor, (B, C), worst learned environment on validation points
    chosen : Tensor, (B,), int64, index into the candidates
    """

    theta: Tensor
    k: Tensor
    alpha: Tensor
    score: Tensor
    chosen: Tensor

    @property
    def winner(self) -> "Directions":
        """The chosen candidate of every seed: fields (B, ...)."""
        rows = torch.arange(len(self.chosen), device=self.chosen.device)
        picked = {n: getattr(self, n)[rows, self.chosen] for n in ("theta", "k", "alpha", "score")}
        return Directions(**picked, chosen=self.chosen)


def predict(psi: Tensor, f0: Tensor, theta: Tensor) -> Tensor:
    """NTF predictor f_0(x) + psi(x)^T theta.

    Parameters
    ----------
    psi : Tensor, (B, m, k)
    f0 : Tensor, (B, m)
    theta : Tensor, (B, C, k)

    Returns
    -------
    Tensor, (B, C, m)
    """
    return f0.unsqueeze(1) + theta @ psi.mT


def learn_directions(
    psi: Tensor,
    y: Tensor,
    psi_validation: Tensor,
    y_validation: Tensor,
    f0_validation: Tensor,
    environments: Environments,
    yardstick: Tensor,
    options: Invariance,
    task: Task,
) -> Directions:
    """theta_inv for every candidate (k, alpha), scored by the selection rule.

    Parameters
    ----------
    psi : Tensor, (B, n, k_max)
    y : Tensor, (B, n)
        Label less the offset f_0.
    psi_validation, y_validation, f0_validation : Tensor, (B, m, k_max), (B, m), (B, m)
        Here ``y_validation`` is the label itself.
    environments : Environments
        Of this iteration, for G candidate dimensions.
    yardstick : Tensor, (B, E, m)
        Memberships of the validation points in all environments learned so far.
    options : Invariance
    task : "classification" or "regression"

    Returns
    -------
    Directions
        C = G x (number of alphas).  Ties go to the smaller k, then the smaller alpha.
    """
    batch, n, k_max = psi.shape
    alphas = torch.tensor(options.alpha, dtype=psi.dtype, device=psi.device)
    theta = psi.new_zeros(batch, environments.k.shape[1], len(alphas), k_max)
    for g in range(environments.k.shape[1]):
        for value in environments.k[:, g].unique().tolist():
            rows = (environments.k[:, g] == value).nonzero().squeeze(-1)
            features = psi[rows, :, :value]
            unit = n * value / (features**2).sum((-2, -1))
            for a, alpha in enumerate(alphas):
                theta[rows, g, a, :value] = invariant_direction(
                    features,
                    y[rows],
                    environments.train[rows, g],
                    alpha if options.metric == "whitened" else alpha * unit,
                    ridge=options.ridge,
                    whiten=options.metric == "whitened",
                    shares=options.weights == "shares",
                )
    theta = theta.flatten(1, 2)
    predictions = predict(psi_validation, f0_validation, theta)
    scores = point_scores(predictions, y_validation.unsqueeze(1), task)
    score = worst_environment_score(scores, yardstick)
    # a candidate without usable environments is eligible only if there is no other
    usable = environments.usable.repeat_interleave(len(alphas), dim=1)
    eligible = torch.where(usable.any(1, keepdim=True), usable, True)
    return Directions(
        theta=theta,
        k=environments.k.repeat_interleave(len(alphas), dim=1),
        alpha=alphas.repeat(environments.k.shape[1]).expand(batch, -1).contiguous(),
        score=score,
        chosen=score.masked_fill(~eligible, -torch.inf).argmax(-1),
    )


def yardstick(learned: Sequence[Environments]) -> Tensor:
    """All environments learned so far, as memberships of the validation points.

    Environments of candidates where every start was degenerate get weight 0, unless a
    seed has no other.

    Parameters
    ----------
    learned : sequence of Environments
        One per iteration.

    Returns
    -------
    Tensor, (B, E, m) with E = sum over iterations of G x K
    """
    usable = torch.cat([e.usable for e in learned], dim=1)
    keep = torch.where(usable.any(1, keepdim=True), usable, True)  # (B, sum G)
    memberships = torch.cat([e.validation.mT for e in learned], dim=1)  # (B, sum G, K, m)
    return (memberships * keep[..., None, None]).flatten(1, 2)


def choose_iteration(
    history: Sequence[Directions],
    learned: Sequence[Environments],
    psi_validation: Tensor,
    y_validation: Tensor,
    f0_validation: Tensor,
    task: Task,
) -> Tensor:
    """T by the same rule: the iteration whose direction scores best over all environments.

    Parameters
    ----------
    history, learned : sequences of length T
    psi_validation, y_validation, f0_validation
        As in :func:`learn_directions`.

    Returns
    -------
    Tensor, (B,), int64
        Index into ``history``; the earliest among equals.
    """
    theta = torch.stack([d.winner.theta for d in history], dim=1)
    scores = point_scores(
        predict(psi_validation, f0_validation, theta), y_validation.unsqueeze(1), task
    )
    return worst_environment_score(scores, yardstick(learned)).argmax(-1)
