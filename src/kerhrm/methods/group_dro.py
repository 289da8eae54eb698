r"""Distributionally robust optimisation over given environments, GroupDRO.

.. math:: \min_w \; \max_e \; L^e(w)

by the online algorithm 1 of Sagawa, Koh, Hashimoto and Liang (ICLR 2020): before every
step in w the environments' weights take one of exponentiated gradient ascent,

.. math::
    q_e \leftarrow \frac{q_e \exp(\eta L^e(w))}{\sum_{e'} q_{e'} \exp(\eta L^{e'}(w))},
    \qquad \text{and then } w \text{ descends on } \sum_e q_e L^e(w) + c |w|^2 .

They draw an environment for each step; here every step sees all points.  With
:math:`\eta = 0` the environments weigh equally.  The decay c matters where the network
can fit all points: there every environment's training loss vanishes, and so does what
tells them apart (their section 3).
"""

import torch
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.irm import decay, given_means, point_loss
from kerhrm.methods.options import GroupDROOptions, loss_of
from kerhrm.networks.base import Network


def train_group_dro(inputs: Inputs, options: GroupDROOptions) -> Fitted:
    """Train on the environments that the inputs name."""
    means = given_means(inputs)
    loss = loss_of(options.loss, inputs.task)
    n_environments = len(means)
    # up to a constant; weights would underflow
    log_weights = means.new_zeros(n_environments)

    def objective(f: Tensor, network: Network, step: int) -> Tensor:
        losses = point_loss(f, inputs.y, loss)
        risks = means @ losses
        log_weights.add_(risks.detach(), alpha=options.eta)
        weights = torch.softmax(log_weights, 0)
        weighted_risk = weights @ risks
        return weighted_risk + decay(network, options.weight_decay)

    memberships = inputs.validation_memberships()
    model = inputs.train_model(objective, options, memberships)
    return Fitted({"model": model})
