"""KerHRM's network: IGD for every lambda on trial, and the choice among them."""

import logging
from collections.abc import Sequence

from torch import Tensor

from kerhrm.algorithm.directions import yardstick
from kerhrm.algorithm.igd import reduced_coordinates, train_igd
from kerhrm.algorithm.options import IGD
from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.algorithm.selection import point_scores, worst_environment_score
from kerhrm.data.predictions import Predictions
from kerhrm.networks.protocol import N, pick

log = logging.getLogger(__name__)


def train_networks(
    network: N,
    problem: Problem,
    x: Tensor,
    x_validation: Tensor,
    x_test: Tensor,
    direction: FinalDirection,
    learned: Sequence[Environments],
    options: IGD,
) -> tuple[Predictions, Tensor, N]:
    """Train along theta_inv with every lambda; the worst learned environment decides.

    Parameters
    ----------
    network : Network
        w_0, from which the problem's features were extracted.
    problem : Problem
    x, x_validation, x_test : Tensor, (B, m, d), float32
    direction, learned
        What the iterations left.
    options : IGD

    Returns
    -------
    predictions : Predictions
        Of all candidates, (B, number of lambdas, m).
    chosen : Tensor, (B,), int64
        Index of the chosen lambda.
    networks : Network
        The chosen networks.
    """
    to_reduced = reduced_coordinates(problem.u, problem.s, direction.k).to(x)
    outputs, trained = [], []
    for penalty in options.penalty:
        log.info("training along theta_inv with lambda = %g", penalty)
        candidate = train_igd(
            network,
            x,
            problem.y.to(x),
            problem.f0_train.to(x),
            to_reduced,
            direction.theta.to(x),
            penalty=penalty,
            cosine=options.cosine,
            steps=options.steps,
            learning_rate=options.learning_rate,
        )
        trained.append(candidate)
        outputs.append(Predictions(candidate(x), candidate(x_validation), candidate(x_test)))
    stacked = Predictions.stack(outputs)
    predictions = Predictions(*(getattr(stacked, n).transpose(0, 1) for n in stacked.names()))
    scores = point_scores(predictions.validation, problem.y_validation.unsqueeze(1), problem.task)
    chosen = worst_environment_score(scores, yardstick(learned).to(scores)).argmax(-1)
    return predictions, chosen, pick(trained, chosen)
