"""KerHRM on one table: the library's steps in a row, and what an estimator keeps of them."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kerhrm.algorithm.loop import Fit, iterate
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import KerHRM
from kerhrm.algorithm.pose import pose, pose_by_landmarks
from kerhrm.algorithm.prediction import finish, ntf_predictions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.selection import point_scores, pooled_score
from kerhrm.data.samples import Samples
from kerhrm.estimators.memberships import Centres, Memberships
from kerhrm.estimators.predictors import NTFPredictor, Predictor, TrainedNetwork
from kerhrm.estimators.tangents import Tangents
from kerhrm.features.extract import extract
from kerhrm.features.options import Landmarks
from kerhrm.features.reduction import RankError
from kerhrm.networks.protocol import Network

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Space:
    """The reduced features of a table.

    Attributes
    ----------
    network : Network
        w_0.
    problem : Problem
        Of one data set.
    points : Tensor, (m, d)
        Training points, or landmarks.
    weights : Tensor, (m, k)
        psi(x) = kappa(x, points) weights.
    """

    network: Network
    problem: Problem
    points: Tensor
    weights: Tensor

    def along(self, coefficients: Tensor) -> Tangents:
        """psi(x)^T c for each column c of coefficients (k', J), of the first k' features."""
        weights = self.weights[:, : len(coefficients)].double() @ coefficients.double()
        return Tangents.of(self.network, self.points, weights)


@torch.no_grad()
def reduced(network: Network, samples: Samples, k: int, *, max_exact: int, landmarks: int) -> Space:
    """Reduce to k dimensions, or to as many as the features have.

    Above ``max_exact`` training points by that many ``landmarks``.
    """
    while True:
        try:
            return _reduced(network, samples, k, max_exact, landmarks)
        except RankError as error:
            if k == 1:
                raise
            log.info("%s: trying fewer", error)
            # the last directions of that rank may be lost, too, where rounding rules them
            k = max(1, min(error.rank, 4 * k // 5))


def _reduced(network: Network, samples: Samples, k: int, max_exact: int, landmarks: int) -> Space:
    x, x_validation, y = samples.x, samples.x_validation, samples.y.double()
    told: Any = {"k": k, "task": samples.task, "seeds": list(samples.seeds)}
    labels = y, samples.y_validation.double()
    if x.shape[1] <= max_exact:
        train, validation, one = (extract(network, p) for p in (x, x_validation, x[:, :1]))
        problem, _ = pose(train, validation, one, *labels, **told)
        return Space(network, problem, x[0], problem.u[0] / problem.s[0])
    options = Landmarks(landmarks=landmarks)
    points = x, x_validation, x[:, :1]
    found, problem, _ = pose_by_landmarks(
        network, *points, *labels, **told, options=options, draws=list(samples.seeds)
    )
    return Space(network, problem, found.z[0], found.weights[0])


@torch.no_grad()
def run(problem: Problem, samples: Samples, options: KerHRM, shown: Any) -> Fit:
    """Algorithm 1, as :func:`kerhrm.algorithm.loop.fit`, its iterations ``shown``."""
    steps: Iterable[Any] = iterate(problem, options, (samples.x, samples.x_validation))
    learned, history = zip(*shown(steps), strict=True)
    final = finish(problem, learned, history, options.selection, options.end)
    return Fit(learned, history, final)


@dataclass(frozen=True)
class Learned:
    """What is left of a run.

    Attributes
    ----------
    predictor : Predictor
    memberships : Memberships
    selected : dict
        k, alpha, lambda, T, and why.
    history : list of dict
        Of every iteration.
    usable : bool
        Whether the chosen environments are more than the label again.
    """

    predictor: Predictor
    memberships: Memberships
    selected: dict[str, Any]
    history: list[dict[str, Any]]
    usable: bool


def keep(space: Space, samples: Samples, options: KerHRM, found: Fit, network: bool) -> Learned:
    """Take the chosen iteration out of a run; train the network of step 3 if asked for."""
    problem, final = space.problem, found.final
    iteration, k = int(final.iteration), int(final.k)
    with torch.no_grad():
        history = [_row(problem, found, t) for t in range(len(found.history))]
        centres = Centres.of(
            problem, found.learned, found.history, iteration, k, options.clustering, samples.x[0]
        )
    slopes = centres.slopes[:0] if centres.of_inputs else centres.slopes
    both = space.along(_stacked(final.theta[0], slopes, problem.s.shape[-1]))
    predictor: Predictor = NTFPredictor(both.take(slice(0, 1)))
    strength = None
    if network:
        points = samples.x, samples.x_validation, samples.x[:, :1]
        learned = found.learned
        _, chosen, trained = train_networks(
            space.network, problem, *points, final, learned, options.network, options.selection
        )
        predictor = TrainedNetwork(trained.frozen())
        strength = float(options.network.penalty[int(chosen)])
    chosen_environments = found.learned[iteration - 1]
    place = int((chosen_environments.k[0] == k).int().argmax())
    selected = {
        "k": k,
        "alpha": float(final.alpha),
        "lambda": strength,
        "T": iteration,
        "score": float(final.score),
        "why": _why(options, len(found.history[0].k[0]), len(found.history), problem.task),
    }
    memberships = Memberships(both.take(slice(1, None)), centres)
    usable = bool(chosen_environments.usable[0, place])
    return Learned(predictor, memberships, selected, history, usable)


def _stacked(theta: Tensor, slopes: Tensor, k: int) -> Tensor:
    """Columns theta (k,) and the centres' slopes (k', K), padded with zeros: (k, 1 + K)."""
    padded = slopes.new_zeros(k, slopes.shape[-1])
    padded[: len(slopes)] = slopes
    return torch.cat([theta.double()[:, None], padded], 1)


def _row(problem: Problem, found: Fit, t: int) -> dict[str, Any]:
    """An iteration in numbers."""
    winner, environments = found.history[t].winner, found.learned[t]
    one = environments.take(0, int((environments.k[0] == winner.k[0]).int().argmax()))
    outputs = ntf_predictions(problem, None, winner.theta)
    parts = ((outputs.train, problem.y), (outputs.validation, problem.y_validation))
    train, validation = (float(pooled_score(point_scores(f, y, problem.task))) for f, y in parts)
    return {
        "iteration": t + 1,
        "k": int(winner.k),
        "alpha": float(winner.alpha),
        "score": float(winner.score),
        "train_score": train,
        "validation_score": validation,
        "shares": one.train.mean(0).tolist(),
        "ridge": float(one.ridge),
        "held_out_likelihood": float(one.held_out),
        "label_information": float(one.label_information),
        "usable": bool(one.usable),
        "starts": int(one.n_starts),
        "starts_repeating_the_label": int(one.n_label_split),
        "starts_with_one_environment": int(one.n_empty),
        "starts_not_converged": int(one.n_unconverged),
    }


def _why(options: KerHRM, candidates: int, iterations: int, task: str) -> str:
    measure = "accuracy" if task == "classification" else "squared error"
    where = {"worst_learned": "in the worst learned environment", "pooled": "on validation rows"}
    end = "of the last iteration" if options.end == "last" else f"of {iterations} iterations"
    return f"best {measure} {where[options.selection]}, {candidates} pairs (k, alpha) {end}"


def lowered(k: Sequence[int], limit: int) -> list[int]:
    """Dimensions to try, none above ``limit``."""
    return sorted({min(one, limit) for one in k})
