r"""Environment inference for invariant learning, EIIL (Creager, Jacobsen & Zemel, ICML 2021).

1. A reference network f is trained by ERM, with IRMv1's weight decay, and frozen.
2. Two soft environments, :math:`q_i = \sigma(w_i)` and :math:`1 - q_i`, are chosen to violate
   the invariance of f as much as possible (their equation (EI), with IRMv1's penalty):

   .. math::
        \max_w \; \frac{1}{2} \Big[ \Big( \frac{1}{n} \sum_i q_i g_i \Big)^2
        + \Big( \frac{1}{n} \sum_i (1 - q_i) g_i \Big)^2 \Big], \qquad
        g_i = \frac{\partial}{\partial s} \ell(s f(x_i), y_i) \Big|_{s = 1},

   by Adam from a standard normal w; sums are divided by n and not by the environment's
   own size, as in the authors' code.
3. The environments are split at q = 1/2, and IRMv1 trains on them from w_0.

The objective is convex in q, so its maximum lies at a corner: with G = sum_i g_i and
a = sum_i q_i g_i it is a^2 + (G - a)^2 up to a factor, which is largest where a is an
extreme.  One environment then holds the points with g_i > 0 and the other those with
g_i < 0; with the logistic loss, those that f gets wrong and right.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from kerhrm.data.samples import Inferred, Samples, memberships
from kerhrm.methods.eiil.options import EIIL
from kerhrm.methods.irmv1 import check_loss, decay, point_loss, scale_gradient, train_irmv1
from kerhrm.networks.adam import Adam
from kerhrm.networks.protocol import Network
from kerhrm.networks.stopping import Snapshots
from kerhrm.networks.training import minimise
from kerhrm.randomness import stream
from kerhrm.rows import again


def train_eiil(
    samples: Samples, network: Network, options: EIIL, stops: Sequence[int]
) -> list[Inferred]:
    """Infer environments, then train on them by IRMv1; the reference has its loss and w_0.

    By the same reference and the same inference the validation points are split, too.  Once for
    every number of steps in ``stops``, on the way of one reference to the last.

    Raises
    ------
    KerhrmError
        If a regression is to have the logistic loss.
    """
    check_loss(options.loss, samples.task)
    references = Snapshots(network, stops, device=samples.x.device)

    def pooled_risk(step: int, f: Tensor, networks: Network, rows: slice) -> Tensor:
        risk = point_loss(f, samples.y[rows], options.loss).mean(-1)
        return risk + decay(networks, options.weight_decay)

    minimise(
        network,
        samples.x,
        pooled_risk,
        steps=options.reference_steps,
        learning_rate=options.learning_rate,
        after_step=references,
        keep=references.state,
    )

    def split(x: Tensor, y: Tensor, name: str) -> Tensor:
        gradients = (scale_gradient(f(x), y, options.loss) for f in references.networks)
        steps, rate = options.inference_steps, options.inference_rate
        splits = [
            infer_environments(g, samples.seeds, name, steps=steps, rate=rate) for g in gradients
        ]
        return torch.cat(splits)

    environment = split(samples.x, samples.y, "eiil")
    held_out = split(samples.x_validation, samples.y_validation, "eiil-validation")
    times = len(stops)
    labelled = replace(samples.copies(times), environment=environment)
    told = again(options, times)
    (trained,) = train_irmv1(labelled, network.copies(times), told, [options.steps])
    inferred = memberships(torch.cat([environment, held_out], dim=-1), 2).chunk(times)
    return [Inferred(*found) for found in zip(trained.parts(times), inferred, strict=True)]


def infer_environments(
    gradient: Tensor, seeds: Sequence[int], name: str = "eiil", *, steps: int, rate: float
) -> Tensor:
    """Split the points where the reference is least invariant.

    From g (B, n) of :func:`kerhrm.methods.irmv1.scale_gradient` to labels (B, n), int64,
    0 or 1, by ``steps`` of Adam at the learning rate ``rate``; ``name`` is the random start's.
    """
    n = gradient.shape[-1]
    start = np.stack([stream(seed, name).standard_normal(n) for seed in seeds])
    w = torch.from_numpy(start).to(gradient).requires_grad_(True)
    optimiser = Adam([w], rate)
    for _ in range(steps):
        optimiser.zero_grad()
        (-soft_penalty(w, gradient).sum()).backward()
        optimiser.step()
    return (w.detach() <= 0).to(torch.int64)


def soft_penalty(w: Tensor, gradient: Tensor) -> Tensor:
    """Mean IRMv1 penalty of the two soft environments: (B, n), (B, n) to (B,)."""
    q = torch.sigmoid(w)
    return ((q * gradient).mean(-1) ** 2 + ((1 - q) * gradient).mean(-1) ** 2) / 2
