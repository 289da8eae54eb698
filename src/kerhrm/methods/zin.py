r"""ZIN: environments from auxiliary information (Lin, Zhu, Tan & Cui, NeurIPS 2022).

1. A reference f is trained by ERM, with IRMv1's weight decay.
2. Two soft environments :math:`\rho(z)` and :math:`1 - \rho(z)`, functions of the
   auxiliary variable z by a network with one hidden layer, are trained to violate the
   invariance of f as much as possible: they maximise IRMv1's penalty

   .. math::
        \frac{1}{2} \Big[ \Big( \frac{1}{n} \sum_i \rho(z_i) g_i \Big)^2
        + \Big( \frac{1}{n} \sum_i (1 - \rho(z_i)) g_i \Big)^2 \Big], \qquad
        g_i = \frac{\partial}{\partial s} \ell(s f(x_i), y_i) \Big|_{s = 1}.

3. IRMv1 trains on the soft environments, from the reference on.

So it is EIIL (:mod:`kerhrm.methods.eiil`) with environments that are a function of z.
Sizes are those of the authors' command for their temporal data.
"""

from dataclasses import replace

import torch
from torch import Tensor

from kerhrm.methods.eiil import soft_penalty
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.irm import (
    scale_gradient,
    train_on,
    train_pooled,
)
from kerhrm.methods.options import ZINOptions, loss_of
from kerhrm.networks.build import (
    MLP,
    init_mlp,
)
from kerhrm.networks.training import train
from kerhrm.randomness import stream


def train_zin(inputs: Inputs, options: ZINOptions) -> Fitted:
    """Infer environments from the auxiliary variable of the inputs, and
    train on them."""
    auxiliary = inputs.require_auxiliary()
    z, z_validation = _standardised(*auxiliary)
    loss = loss_of(options.loss, inputs.task)
    reference = train_pooled(inputs, options, options.reference_steps)
    with torch.no_grad():
        outputs = reference(inputs.x)
        gradient = scale_gradient(outputs, inputs.y, loss)

    def violation(logits: Tensor, network: MLP, step: int) -> Tensor:
        penalty = soft_penalty(logits, gradient)
        return -penalty

    random = stream(inputs.seed, "zin")
    seed = int(random.integers(2**31))
    n, n_columns = z.shape
    widths = (n_columns, options.hidden, 1)
    untrained = init_mlp(seed, widths)
    inference = train(
        untrained.to(z.device),
        z,
        violation,
        steps=options.inference_steps,
        learning_rate=options.inference_rate,
    )
    with torch.no_grad():
        of_points = inference(z)
        of_held_out = inference(z_validation)
        logits = torch.cat([of_points, of_held_out])
        rho = torch.sigmoid(logits)
        memberships = torch.stack([rho, 1 - rho], -1)
        of_train = memberships[:n].mT
        sizes = of_train.sum(-1, keepdim=True)
        positive_sizes = sizes.clamp_min(1e-12)
        means = of_train / positive_sizes
    inputs = replace(inputs, network=reference)
    of_validation = memberships[n:].mT
    fitted = train_on(means, inputs, options, of_validation)
    return replace(fitted, environments=memberships)


def _standardised(train: Tensor, validation: Tensor) -> tuple[Tensor, Tensor]:
    """Columns in units of the training points' deviations from their mean, float32; one
    that is constant there keeps its unit."""
    train = train.double()
    validation = validation.double()
    mean = train.mean(0)
    deviation = train.std(0)
    scale = torch.where(deviation > 0, deviation, 1.0)
    train = (train - mean) / scale
    validation = (validation - mean) / scale
    return train.float(), validation.float()
