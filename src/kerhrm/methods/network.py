"""KerHRM's network: IGD for every lambda on trial, and the choice among them."""

import logging
from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.iteration import yardstick
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.selection import point_scores, worst_environment_score
from kerhrm.config.methods import Network
from kerhrm.features.mlp import MLP
from kerhrm.methods.igd import reduced_coordinates, train_igd
from kerhrm.methods.ntf_predictor import FinalDirection
from kerhrm.methods.predictions import Predictions

log = logging.getLogger(__name__)


def train_networks(
    mlp: MLP,
    problem: Problem,
    x: Tensor,
    x_validation: Tensor,
    x_test: Tensor,
    direction: FinalDirection,
    learned: Sequence[Environments],
    options: Network,
) -> tuple[Predictions, Tensor, MLP]:
    """Train along theta_inv with every lambda; the worst learned environment decides.

    Parameters
    ----------
    mlp : MLP
        w_0, from which the problem's features were extracted.
    problem : Problem
    x, x_validation, x_test : Tensor, (B, m, d), float32
    direction, learned
        What the iterations left.
    options : Network

    Returns
    -------
    predictions : Predictions
        Of all candidates, (B, number of lambdas, m).
    chosen : Tensor, (B,), int64
        Index of the chosen lambda.
    networks : MLP
        The chosen networks.
    """
    features = problem.features
    to_reduced = reduced_coordinates(features.u, features.s, direction.k).to(x)
    outputs, trained = [], []
    for penalty in options.penalty:
        log.info("training along theta_inv with lambda = %g", penalty)
        network = train_igd(
            mlp,
            x,
            problem.y.to(x),
            features.f0_train.to(x),
            to_reduced,
            direction.theta.to(x),
            penalty=penalty,
            cosine=options.cosine,
            steps=options.steps,
            learning_rate=options.learning_rate,
        )
        trained.append(network)
        outputs.append(Predictions(network(x), network(x_validation), network(x_test)))
    stacked = Predictions.stack(outputs)
    predictions = Predictions(*(getattr(stacked, n).transpose(0, 1) for n in stacked.names()))
    scores = point_scores(predictions.validation, problem.y_validation.unsqueeze(1), problem.task)
    chosen = worst_environment_score(scores, yardstick(learned).to(scores)).argmax(-1)

    def pick(tensors: list[Tensor]) -> Tensor:
        return torch.stack([tensors[c][b] for b, c in enumerate(chosen.tolist())])

    layers = range(len(mlp.weights))
    networks = MLP(
        [pick([t.weights[i] for t in trained]) for i in layers],
        [pick([t.biases[i] for t in trained]) for i in layers],
    )
    return predictions, chosen, networks
