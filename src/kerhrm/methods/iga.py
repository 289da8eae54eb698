r"""Inter-gradient alignment with environment labels, IGA (Koyama & Yamaguchi 2020).

.. math::
    \min_w \; \frac{1}{|E|} \sum_e L^e(w) + \lambda \sum_e \Big| \nabla_w L^e(w) -
    \frac{1}{|E|} \sum_{e'} \nabla_w L^{e'}(w) \Big|^2 ,

their trace of the gradients' variance over all network parameters, summed over
environments as in DomainBed.  It is invariant under a rotation of the environments, so
with orthonormal contrasts C, (|E| - 1) x |E| and orthogonal to the constant, it is

.. math:: \sum_j \Big| \nabla_w \sum_e C_{je} L^e(w) \Big|^2 :

one differentiated backward pass fewer than there are environments.
"""

import torch
from scipy.linalg import helmert
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.irm import given_means, point_loss
from kerhrm.methods.options import IGAOptions
from kerhrm.networks.base import Network


def train_iga(inputs: Inputs, options: IGAOptions) -> Fitted:
    """Train on the environments that the inputs name."""
    means = given_means(inputs)

    def objective(f: Tensor, network: Network, step: int) -> Tensor:
        losses = point_loss(f, inputs.y, options.loss)
        risks = means @ losses
        penalty = gradient_variance(risks, network)
        mean_risk = risks.mean()
        return mean_risk + options.penalty_weight * penalty

    memberships = inputs.validation_memberships()
    model = inputs.train_model(objective, options, memberships)
    return Fitted({"model": model})


def gradient_variance(risks: Tensor, network: Network) -> Tensor:
    """Sum over environments of |grad L^e - mean grad|^2, differentiable.

    Shapes (E,) to a scalar.

    ``risks``, the L^e, come from the weights of the trainable ``network``.
    """
    variance = torch.zeros_like(risks[0])
    n_environments = len(risks)
    if n_environments == 1:
        return variance
    weights = list(network.weights.values())
    contrasts = torch.from_numpy(helmert(n_environments))
    rows = contrasts.to(risks)
    for contrast in rows @ risks:
        gradients = torch.autograd.grad(contrast, weights, create_graph=True)
        square = sum((gradient**2).sum() for gradient in gradients)
        variance = variance + square
    return variance
