"""Algorithm 1 from features to network in one go, by the options' rules."""

import torch

from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import KerHRM
from kerhrm.algorithm.prediction import ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.predictions import Predictions
from kerhrm.methods.whole import Points
from kerhrm.networks.protocol import Network


def train_literal(
    network: Network, problem: Problem, test: TestFeatures, points: Points, options: KerHRM
) -> tuple[Predictions, Predictions]:
    """Predictions (B, m) of the network of step 3, and of the NTF predictor."""
    with torch.no_grad():
        found = fit(problem, options, points[:2])
        ntf = ntf_predictions(problem, test, found.final.theta)
    outputs, chosen, _ = train_networks(
        network, problem, *points, found.final, found.learned, options.network, options.selection
    )
    return outputs.take(torch.arange(len(chosen)), chosen.cpu()), ntf
