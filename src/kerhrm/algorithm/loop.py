"""Algorithm 1 of the paper: environments and invariant directions in turn.

    theta_0 = 0
    for t = 1, ..., T:
        environments_t  from Psi without theta_(t-1)    M_c, learn_environments
        theta_t         invariant over environments_t   M_p, learn_directions

The network (:mod:`kerhrm.algorithm.igd`) is trained along the final direction; no
iteration depends on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.invariance import (
    best_candidate,
    learn_directions,
    point_scores,
    selection_score,
)
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Direction, Directions, Environments, Memberships
from kerhrm.progress import progress


@dataclass(frozen=True)
class Fit:
    """Result of Algorithm 1.

    Attributes
    ----------
    environments, directions : tuples of length T
        Of iterations 1, ..., T.
    final : Direction
        Predicts new points.
    scores : Tensor, (T,)
        Of the iterations' directions by the selection rule, over the environments of
        all iterations: what chooses among them.

    Examples
    --------
    >>> import torch
    >>> from kerhrm import KerHRMOptions, NetworkOptions, NTFMap, Problem, build, fit
    >>> x = torch.randn(80, 2, generator=torch.Generator().manual_seed(0))
    >>> features = NTFMap.fit(build(NetworkOptions(widths=[8]), seed=0, d=2), x[:60], 4)
    >>> problem = Problem.from_features(
    ...     features, x[60:], y=x[:60, 0], y_validation=x[60:, 0],
    ...     task="regression", seed=0)
    >>> found = fit(problem, KerHRMOptions(k=[4], n_init=1, n_iterations=2))
    >>> [row["iteration"] for row in found.history(problem)]
    [1, 2]
    """

    environments: tuple[Environments, ...]
    directions: tuple[Directions, ...]
    final: Direction
    scores: Tensor

    def history(self, problem: Problem) -> list[dict[str, Any]]:
        """Describe every iteration in numbers: choices, scores, clustering.

        Scores of different rows are comparable, and ``chosen`` is True in one.
        """
        n_iterations = len(self.directions)
        return [self._iteration(problem, t) for t in range(n_iterations)]

    def _iteration(self, problem: Problem, t: int) -> dict[str, Any]:
        winner = self.directions[t].winner(t + 1)
        clustering = self.environments[t].candidate(winner.k)
        train = winner.predict(problem.psi_train, problem.f0_train)
        validation = winner.predict(problem.psi_validation, problem.f0_validation)
        shares = clustering.train.mean(0)
        of_train = point_scores(train, problem.y, problem.task)
        of_validation = point_scores(validation, problem.y_validation, problem.task)
        counts, _ = problem.counts
        return {
            "iteration": winner.iteration,
            "k": winner.k,
            "alpha": winner.alpha,
            "chosen": winner.iteration == self.final.iteration,
            "score": float(self.scores[t]),
            "train_score": _weighted_mean(of_train, counts),
            "validation_score": _weighted_mean(
                of_validation, problem.validation_counts
            ),
            "shares": shares.tolist(),
            "ridge": clustering.ridge.item(),
            "held_out": clustering.held_out.item(),
            "label_information": clustering.label_information.item(),
            "degenerate": clustering.degenerate.item(),
            "n_starts": clustering.n_starts.item(),
            "n_label_split": clustering.n_label_split.item(),
            "n_empty": clustering.n_empty.item(),
            "n_unconverged": clustering.n_unconverged.item(),
        }


def _weighted_mean(scores: Tensor, counts: Tensor) -> float:
    """Mean score of points (m,) whose weights (m,) have mean 1."""
    weighted = scores * counts
    return float(weighted.mean())


def fit(
    problem: Problem,
    options: KerHRMOptions,
    inputs: tuple[Tensor, Tensor] | None = None,
) -> Fit:
    """Run Algorithm 1.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels of one data set.
    options : KerHRMOptions
        Of all steps.
    inputs : two Tensors, (n, d) and (m, d), optional
        Training and validation points, for options with ``first_kernel="inputs"``.

    Returns
    -------
    Fit
        Environments and directions of every iteration, and the direction that predicts.
        Iterations end where the chosen k is 1: no feature is left without theta.

    Raises
    ------
    KerhrmError
        As :func:`~kerhrm.algorithm.environments.learn_environments` and
        :func:`~kerhrm.algorithm.invariance.learn_directions`.
    SingularError
        As these, too.

    Examples
    --------
    The slope of the second input has another sign in every second row.

    >>> import torch
    >>> from kerhrm import KerHRMOptions, NetworkOptions, NTFMap, Problem, build, fit
    >>> x = torch.randn(300, 2, generator=torch.Generator().manual_seed(0))
    >>> y = x[:, 0] + 2 * torch.tensor([-1.0, 1.0]).repeat(150) * x[:, 1]
    >>> network = build(NetworkOptions(widths=[16]), seed=0, d=2)
    >>> features = NTFMap.fit(network, x[:200], k=4)
    >>> problem = Problem.from_features(
    ...     features, x[200:], y=y[:200], y_validation=y[200:],
    ...     task="regression", seed=0)
    >>> options = KerHRMOptions(k=[4], n_iterations=1, steps=20)
    >>> final = fit(problem, options).final

    Step by step, and with a network:

    >>> from kerhrm.algorithm.igd import train_network
    >>> environments = [learn_environments(problem, options, 1, [], [])]
    >>> directions = [learn_directions(problem, environments, options)]
    >>> direction = select_iteration(problem, environments, directions, options)
    >>> torch.equal(direction.theta, final.theta)
    True
    >>> scores = iteration_scores(problem, environments, directions, options)
    >>> direction.score == float(scores.max())
    True
    >>> trained = train_network(
    ...     network, x[:200], x[200:], problem, final, environments, options)
    >>> trained.cosine_weight in options.cosine_weight
    True
    """
    environments: list[Environments] = []
    directions: list[Directions] = []
    for t in progress(range(1, options.n_iterations + 1), "iterations"):
        if t > 1 and _nothing_left(directions):
            break
        clustered = learn_environments(
            problem, options, t, environments, directions, inputs
        )
        environments.append(clustered)
        learned = learn_directions(problem, environments, options)
        directions.append(learned)
    scores = iteration_scores(problem, environments, directions, options)
    return Fit(
        environments=tuple(environments),
        directions=tuple(directions),
        final=_chosen(directions, scores, options),
        scores=scores,
    )


def _nothing_left(directions: Sequence[Directions]) -> bool:
    """Whether the next clustering would have no feature.

    Psi_V has k - 1 dimensions, also where several directions are taken out one after
    another: only the last one is then orthogonal to it.
    """
    n_iterations = len(directions)
    newest = directions[-1].winner(n_iterations)
    return newest.k <= 1


def select_iteration(
    problem: Problem,
    environments: Sequence[Memberships],
    directions: Sequence[Directions],
    options: KerHRMOptions,
) -> Direction:
    """Choose the iteration that predicts.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    environments, directions : sequences of length T
        What the iterations left.
    options : KerHRMOptions
        With ``final="best"`` the iteration with the best score over all environments is
        chosen, the earliest among equals; with "last" the last one.

    Returns
    -------
    Direction
        With the iteration's number, and its score by :func:`iteration_scores`.
    """
    scores = iteration_scores(problem, environments, directions, options)
    return _chosen(directions, scores, options)


def iteration_scores(
    problem: Problem,
    environments: Sequence[Memberships],
    directions: Sequence[Directions],
    options: KerHRMOptions,
) -> Tensor:
    """Scores of the iterations' directions by the selection rule.

    All are over the environments of all iterations, so that they are comparable.  The
    score with which an iteration has chosen its k and alpha knows of earlier ones
    alone, and is the higher the fewer these are.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    environments, directions : sequences of length T
        What the iterations left.
    options : KerHRMOptions
        ``stop_by`` is the rule.

    Returns
    -------
    Tensor, (T,)
        float64; the higher, the better.
    """
    thetas = torch.stack([winner.theta for winner in _winners(directions)])
    return selection_score(problem, thetas, environments, options.stop_by)


def _winners(directions: Sequence[Directions]) -> list[Direction]:
    return [d.winner(t) for t, d in enumerate(directions, start=1)]


def _chosen(
    directions: Sequence[Directions], scores: Tensor, options: KerHRMOptions
) -> Direction:
    """The direction of the iteration that predicts, by the scores (T,)."""
    winners = _winners(directions)
    best = best_candidate(scores)
    if options.final == "last":
        best = len(winners) - 1
    return replace(winners[best], score=float(scores[best]))
