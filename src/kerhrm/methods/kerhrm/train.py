"""Algorithm 1 from features to network in one go, by the options' rules."""

import torch
from torch import Tensor

from kerhrm.algorithm.directions import yardstick
from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import KerHRM
from kerhrm.algorithm.prediction import ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.data.predictions import Predictions
from kerhrm.heterogeneity.guard import guarded, pooled_direction
from kerhrm.methods.whole import Points
from kerhrm.networks.protocol import Network


def train_kerhrm(
    network: Network,
    problem: Problem,
    test: TestFeatures,
    points: Points,
    options: KerHRM,
    none_found: Tensor | None,
) -> tuple[tuple[Predictions, Predictions], Tensor]:
    """Predictions (B, m) of the network of step 3, and of the NTF predictor.

    Where ``none_found``, (B,), holds and the options have the test for environments, the direction
    is that of pooled ERM.  Besides the memberships (B, E, n + m) of the training and validation
    points in all environments learned, or, where there are none to find, in one.
    """
    with torch.no_grad():
        found = fit(problem, options, points[:2])
        final = found.final
        parts = [yardstick(found.learned, "train"), yardstick(found.learned, "validation")]
        learned = torch.cat(parts, dim=-1)
        if none_found is not None and options.guard is not None:
            final = guarded(final, pooled_direction(problem, options.k), none_found)
            learned = torch.where(none_found[:, None, None], 1.0, learned)
        ntf = ntf_predictions(problem, test, final.theta)
    outputs, chosen, _ = train_networks(
        network, problem, *points, final, found.learned, options.network, options.selection
    )
    picked = outputs.take(torch.arange(len(chosen)), chosen.cpu())
    return (picked, ntf), learned
