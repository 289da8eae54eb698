r"""Environment-based validation and loss-based sampling, EVaLS (Ghaznavi,
Asadollahzadeh, Hosseini Noohdani, Vafaie Tabar, Hasani, Akbari Alvanagh, Rohban &
Soleymani Baghshah 2025, arXiv 2410.05345).

1. ERM trains a network from w_0 on a part of the training points.
2. Of the other points of each label the k with the highest and the k with the lowest
   losses, :math:`S`, train its last layer anew, on its last hidden layer z,

   .. math::
        \min_{v, b} \; \frac{1}{|S|} \sum_{i \in S}
        \log\big(1 + e^{-y_i (z_i^\top v + b)}\big) + \lambda |v|_1 .

   High losses are of the minority, low ones of the majority, so that both have a like
   part of S, and so have the labels.
3. The validation points are split where ERM is least invariant
   (:func:`~kerhrm.methods.eiil.split_by_reference`).  The k and lambda with the best
   accuracy in the worse environment are taken; no group label is used.

The problem is convex, and is solved by accelerated proximal gradients (Beck & Teboulle
2009); z is standardised first, as for last layers in Kirichenko, Izmailov & Wilson
(ICLR 2023).  k is given as a share of the held-out points of the rarer label.  The
authors' own values of k and lambda are in no public file that we found.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from kerhrm.algorithm.invariance import (
    best_candidate,
    point_scores,
    worst_environment_score,
)
from kerhrm.methods.afr import hold_out, train_erm_on
from kerhrm.methods.eiil import split_by_reference
from kerhrm.methods.inputs import Fitted, Inputs, one_hot_environments
from kerhrm.methods.irm import point_loss
from kerhrm.methods.peer_options import EVaLSOptions
from kerhrm.networks.base import Network
from kerhrm.networks.build import MLP
from kerhrm.networks.last_layer import LastLayer

MAX_STEPS = 5000  #: of the proximal gradients
TOLERANCE = 1e-6  #: of the largest step that a coefficient would still take


@dataclass(frozen=True)
class Candidate:
    """A last layer, and what it was learned with.

    Attributes
    ----------
    network : MLP
        ERM's, with another last layer.
    selected, l1 : float
        Share of the points, and lambda.
    """

    network: MLP
    selected: float
    l1: float


def train_evals(inputs: Inputs, options: EVaLSOptions) -> Fitted:
    """Retrain the last layer on extreme losses; inferred environments validate."""
    LastLayer.from_network(inputs.network)  # refuses other networks before any training
    held_out = hold_out(inputs, options.share, "evals")
    kept = ~held_out
    base = train_erm_on(inputs, kept, options, "logistic")

    def split(x: Tensor, y: Tensor, name: str) -> Tensor:
        _, shown = split_by_reference(
            base, x, y, "logistic", seed=inputs.seed, name=name, options=options
        )
        return one_hot_environments(shown, 2)

    train = split(inputs.x, inputs.y, "evals-environments")
    validation = split(inputs.x_validation, inputs.y_validation, "evals-validation")
    x = inputs.x[held_out]
    y = inputs.y[held_out]
    tried = list(candidates(base, x, y, options))
    outputs = [candidate.network(inputs.x_validation) for candidate in tried]
    of_candidates = torch.stack(outputs)
    scores = point_scores(of_candidates, inputs.y_validation, inputs.task)
    members = validation.T.to(scores)
    worst = worst_environment_score(scores, members)
    best = tried[best_candidate(worst)]
    memberships = torch.cat([train, validation])
    return Fitted(
        {"model": best.network},
        environments=memberships,
        chosen={"selected": best.selected, "l1": best.l1},
    )


def candidates(
    base: Network, x: Tensor, y: Tensor, options: EVaLSOptions
) -> Iterator[Candidate]:
    """Last layers by every share and every lambda, of points (n, d) held out.

    A network that diverged is the only candidate: it has no features.
    """
    last = LastLayer.from_network(base)
    with_constant = last.features(x)
    z = with_constant[:, :-1]
    if not z.isfinite().all():
        yield Candidate(last.network, options.selected[0], options.l1[0])
        return
    target = y.double()
    with torch.no_grad():
        outputs = base(x)
        losses = point_loss(outputs, y, "logistic")
    for selected, l1 in product(options.selected, options.l1):
        points = extremes(losses, y, selected)
        selected_z = z[points]
        selected_target = target[points]
        coefficients = lasso(selected_z, selected_target, l1)
        network = last.replaced(coefficients)
        yield Candidate(network, selected, l1)


def extremes(losses: Tensor, y: Tensor, selected: float) -> Tensor:
    """Numbers (s,) of the points of each label with extreme losses, rising.

    Parameters
    ----------
    losses, y : Tensor, (n,)
        Of the points, and their labels.
    selected : float
        Share of the rarer label's points with the highest losses, and with the lowest
        ones; as many of the other label.
    """
    labels, sizes = y.unique(return_counts=True)
    n_rarer = int(sizes.min())
    share = round(selected * n_rarer)
    k = max(1, share)
    kept = []
    for label in labels:
        of_label = torch.nonzero(y == label)
        points = of_label.flatten()
        losses_of_label = losses[points]
        by_loss = losses_of_label.argsort(stable=True)
        order = points[by_loss]
        lowest = order[:k]
        highest = order[-k:]
        kept += [lowest, highest]
    both = torch.cat(kept)
    return both.unique()


def lasso(z: Tensor, y: Tensor, l1: float) -> Tensor:
    """Logistic regression on standardised features with a penalty |v|_1.

    Parameters
    ----------
    z : Tensor, (n, q), float64
        Features.
    y : Tensor, (n,), float64
        Labels -1 and +1.
    l1 : float
        Lambda.

    Returns
    -------
    Tensor, (q + 1,), float64
        Coefficients of the features as they are given, and the intercept.
    """
    mean = z.mean(0)
    deviation = z.std(0, correction=0)
    scale = torch.where(deviation > 0, deviation, 1.0)
    standardised = (z - mean) / scale
    first_column = z[:, :1]
    ones = torch.ones_like(first_column)
    design = torch.cat([standardised, ones], dim=1)
    threshold = torch.full_like(design[0], l1)
    threshold[-1] = 0  # the intercept
    v = minimise(design, y, threshold)
    slopes = v[:-1] / scale
    shift = slopes @ mean
    intercept = v[-1:] - shift
    return torch.cat([slopes, intercept])


def minimise(z: Tensor, y: Tensor, threshold: Tensor) -> Tensor:
    """v (q,) of least mean logistic loss plus sum_j threshold_j |v_j|.

    By accelerated proximal gradients, started again where they go astray.
    """
    n = len(z)
    norm = float(torch.linalg.matrix_norm(z, 2))
    step = 4 * n / norm**2
    v = torch.zeros_like(threshold)
    ahead = v
    momentum = 1.0
    for _ in range(MAX_STEPS):
        margins = -y * (z @ ahead)
        wrong = torch.sigmoid(margins)
        pulls = -z.mT @ (y * wrong)
        gradient = pulls / n
        moved = ahead - step * gradient
        shrinkage = step * threshold
        size = moved.abs() - shrinkage
        lengths = size.clamp_min(0)
        new = moved.sign() * lengths
        changes = (new - ahead).abs()
        largest_change = float(changes.max())
        if largest_change <= TOLERANCE * step:
            return new
        change = new - v
        if (ahead - new) @ change > 0:
            momentum = 1.0
        root = math.sqrt(1 + 4 * momentum**2)
        following = (1 + root) / 2
        weight = (momentum - 1) / following
        ahead = new + weight * change
        v = new
        momentum = following
    return v
