r"""Inter-gradient alignment with environment labels, IGA (Koyama & Yamaguchi 2020).

.. math::
    \min_w \; \frac{1}{|E|} \sum_e L^e(w)
    + \lambda \sum_e \Big| \nabla_w L^e(w) - \frac{1}{|E|} \sum_{e'} \nabla_w L^{e'}(w) \Big|^2 ,

their trace of the gradients' variance over all network parameters, summed over environments
as in DomainBed.  It is invariant under a rotation of the environments, so with orthonormal
contrasts C, (|E| - 1) x |E| and orthogonal to the constant, it is

.. math:: \sum_j \Big| \nabla_w \sum_e C_{je} L^e(w) \Big|^2 :

one differentiated backward pass fewer than there are environments.
"""

from collections.abc import Sequence

import torch
from scipy.linalg import helmert
from torch import Tensor

from kerhrm.data.samples import Samples
from kerhrm.methods.iga.options import IGA
from kerhrm.methods.irmv1 import check_loss, environment_means, point_loss, within_environments
from kerhrm.networks.protocol import Network
from kerhrm.networks.stopping import Snapshots
from kerhrm.networks.training import minimise
from kerhrm.rows import of_rows


def train_iga(
    samples: Samples, network: Network, options: IGA, stops: Sequence[int]
) -> list[Network]:
    """Train B networks on the environments that the samples name.

    Every environment has points in every seed.

    Raises
    ------
    KerhrmError
        If a regression is to have the logistic loss.
    """
    check_loss(options.loss, samples.task)
    assert samples.environment is not None
    means = environment_means(samples.environment).to(samples.x)

    def objective(step: int, f: Tensor, networks: Network, rows: slice) -> Tensor:
        losses = point_loss(f, samples.y[rows], options.loss)
        risks = within_environments(losses, means[rows])
        penalty = of_rows(options.penalty, rows, risks)
        return risks.mean(-1) + penalty * gradient_variance(risks, networks)

    path = Snapshots(network, stops, device=samples.x.device)
    minimise(
        network,
        samples.x,
        objective,
        steps=options.steps,
        learning_rate=options.learning_rate,
        after_step=path,
        keep=path.state,
    )
    return path.networks


def gradient_variance(risks: Tensor, networks: Network) -> Tensor:
    """Sum over environments of |grad L^e - mean grad|^2, differentiable: (B, E) to (B,).

    ``risks``, the L^e, come from the parameters of the trainable ``networks``.
    """
    total = torch.zeros_like(risks[:, 0])
    if risks.shape[1] == 1:
        return total
    contrasts = torch.from_numpy(helmert(risks.shape[1])).to(risks)
    for contrast in (risks @ contrasts.T).unbind(-1):
        gradients = torch.autograd.grad(contrast.sum(), networks.parameters(), create_graph=True)
        total = total + sum((g**2).flatten(1).sum(-1) for g in gradients)
    return total
