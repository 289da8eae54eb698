r"""Cross-risk minimisation, XRM (Pezeshki, Bouchacourt, Ibrahim, Ballas, Vincent &
Lopez-Paz, "Discovering environments with XRM", ICML 2024).

1. Every training point is given to one of two networks, a and b, at random.  A network
   learns the labels :math:`\tilde y` of its own points, both labels weighing equally,

   .. math::
        \min_{a, b} \; \sum_{c = \pm 1} \; \frac{1}{n_c} \sum_{i : \tilde y_i = c}
        \log\big(1 + e^{-\tilde y_i f^{in}(x_i)}\big),

   where :math:`f^{in}` is a at the points of a and b at the others.  After every step a
   point's label becomes the one that the network of the *other* points predicts, with
   a probability that rises with its confidence, for two labels

   .. math:: 2 \max_c p^{out}_c(x_i) - 1 = \tanh\big(|f^{out}(x_i)| / 2\big) .

2. A point, of training or validation, is in environment 1 if either network gets its
   own label wrong, else in environment 0 (their cross-mistake formula).
3. From w_0 again, GroupDRO trains on the groups of label and environment
   (:mod:`~kerhrm.methods.group_dro`).

Both networks start at w_0: the authors' short version, quick_run.py in
github.com/facebookresearch/XRM, starts both at zero, their experiments at two draws of
w_0.  They take mini-batches; here every step sees all points, as in the short version.
They choose the options of step 1 by the share of the labels that were flipped, which
is ``chosen["flipped"]``.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import softplus

from kerhrm.methods.group_dro import train_group_dro
from kerhrm.methods.inputs import Fitted, Inputs, errors, one_hot_environments
from kerhrm.methods.peer_options import XRMOptions
from kerhrm.networks.base import Network
from kerhrm.networks.training import Adam, require_training
from kerhrm.progress import progress
from kerhrm.randomness import stream


def train_xrm(inputs: Inputs, options: XRMOptions) -> Fitted:
    """Infer environments by two networks' mistakes, and train on their groups."""
    twins = train_twins(inputs, options)
    environments = twins.mistakes(inputs.x, inputs.y)
    held_out = twins.mistakes(inputs.x_validation, inputs.y_validation)
    positive = inputs.y > 0
    doubled = 2 * environments
    groups = doubled + positive
    inputs = replace(inputs, environments=groups, environments_validation=held_out)
    fitted = train_group_dro(inputs, options)
    both = torch.cat([environments, held_out])
    indicators = one_hot_environments(both, 2)
    return replace(
        fitted,
        environments=indicators,
        chosen={"flipped": twins.flipped},
    )


@dataclass(frozen=True)
class Twins:
    """Two networks, each of its own points.

    Attributes
    ----------
    a, b : Network
        After the last step.
    of_a : Tensor, (n,), bool
        Training points of a; the others are those of b.
    labels : Tensor, (n,)
        Of the training points, as they have been flipped.
    flipped : float
        Share of the training points whose label is not their own at the end.
    """

    a: Network
    b: Network
    of_a: Tensor
    labels: Tensor
    flipped: float

    def mistakes(self, x: Tensor, y: Tensor) -> Tensor:
        """Points (m, d) that either network gets wrong: (m,), int64, 0 or 1."""
        by_a = errors(self.a, x, y)
        by_b = errors(self.b, x, y)
        return torch.maximum(by_a, by_b)


@torch.inference_mode(False)  # gradients, also where the caller has none
def train_twins(inputs: Inputs, options: XRMOptions) -> Twins:
    """Train two networks from w_0 on labels that they flip for each other.

    Points are given out, and labels flipped, by the stream ``xrm`` of the seed.
    """
    require_training(inputs.network, inputs.x, n_networks=2)
    random = stream(inputs.seed, "xrm")
    n = len(inputs.y)

    def uniform() -> Tensor:
        numbers = random.random(n)
        drawn = torch.from_numpy(numbers)
        return drawn.to(inputs.y)

    of_a = uniform() < 0.5
    networks = [inputs.network.trainable(inputs.x.device) for _ in range(2)]
    weights = [w for network in networks for w in network.weights.values()]
    optimiser = Adam(weights, options.twin_rate)
    outputs = inputs.network.at(inputs.x)
    labels = inputs.y.clone()
    for _ in progress(range(options.twin_steps), "steps of the twins"):
        f_a, f_b = (outputs(network) for network in networks)
        own = torch.where(of_a, f_a, f_b)
        loss = balanced_loss(own, labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        other = torch.where(of_a, f_b, f_a).detach()
        half_size = other.abs() / 2
        confidence = torch.tanh(half_size)
        flips = uniform() < confidence
        predicted = torch.where(other > 0, 1.0, -1.0)
        labels = torch.where(flips, predicted, labels)
    a, b = (network.detached() for network in networks)
    differ = labels != inputs.y
    changed = differ.double()
    flipped = float(changed.mean())
    return Twins(a, b, of_a, labels, flipped)


def balanced_loss(f: Tensor, labels: Tensor) -> Tensor:
    """Sum over the labels that occur of the mean logistic loss of their points."""
    margins = -labels * f
    losses = softplus(margins)
    total = losses.new_zeros(())
    for label in labels.unique():
        is_label = labels == label
        of_label = losses[is_label]
        total = total + of_label.mean()
    return total
