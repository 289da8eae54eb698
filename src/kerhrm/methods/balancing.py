r"""Balanced groups (Idrissi, Arjovsky, Pezeshki & Lopez-Paz, "Simple data balancing
achieves competitive worst-group-accuracy", CLeaR 2022), here the inferred ones.

Their groups g are pairs of a label and a known attribute.  No attribute is known here:
the errors of a network after a few steps of ERM, the error set of
:mod:`~kerhrm.methods.jtt`, take its place.  Two of their four methods balance groups:

.. math::
    \text{reweight (RWG)} \quad \min_w \; \frac{1}{|G|} \sum_g
        \frac{1}{n_g} \sum_{i \in g} \ell_i + c |w|^2, \qquad
    \text{subsample (SUBG)} \quad \min_w \; \frac{1}{|G|} \sum_g
        \frac{1}{n_{\min}} \sum_{i \in S_g} \ell_i + c |w|^2,

where :math:`S_g` are :math:`n_{\min} = \min_g n_g` points of g, drawn once without
replacement.  With labels in place of groups they are their RWY and SUBY.  Groups
without points are none.  Where all groups have one size both are ERM.

They draw batches with these probabilities; here every step sees all points, by Adam.
PyTorch's weight decay, the one of their grid, is 2 c.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from kerhrm.methods.inputs import Fitted, Inputs, one_hot_environments
from kerhrm.methods.irm import decay, environment_means, point_loss
from kerhrm.methods.jtt import identify
from kerhrm.methods.peer_options import Balance, BalancingOptions, GroupsBy
from kerhrm.networks.base import Network
from kerhrm.randomness import stream


def train_balancing(inputs: Inputs, options: BalancingOptions) -> Fitted:
    """Train from w_0 on balanced groups; the second environment is the error set."""
    wrong, held_out = identify(inputs, options)
    groups = groups_of(wrong, inputs.y, options.groups)
    sample = balance(groups, options.balance, inputs.seed)
    y = inputs.y[sample.points]
    weights = sample.weights.to(y)

    def objective(f: Tensor, network: Network, step: int) -> Tensor:
        losses = point_loss(f, y, options.loss)
        risk = weights @ losses
        return risk + decay(network, options.weight_decay)

    x = inputs.x[sample.points]
    points = replace(inputs, x=x, y=y)
    columns = one_hot_environments(held_out, 2)
    members = columns.mT
    model = points.train_model(objective, options, members)
    both = torch.cat([wrong, held_out])
    environments = one_hot_environments(both, 2)
    return Fitted({"model": model}, environments=environments)


def groups_of(environments: Tensor, y: Tensor, by: GroupsBy) -> Tensor:
    """Groups 0, ..., 3 of points (n,), int64, by environments 0 and 1, labels, or
    both."""
    labels = (y > 0).to(torch.int64)
    if by == "labels":
        return labels
    if by == "environments":
        return environments
    return 2 * environments + labels


@dataclass(frozen=True)
class Sample:
    """Points that train, and their weights.

    Attributes
    ----------
    points : Tensor, (s,), int64
        Their numbers among all points, rising.
    weights : Tensor, (s,), float64
        They sum to 1, over each group to the same.
    """

    points: Tensor
    weights: Tensor


def balance(groups: Tensor, how: Balance, seed: int) -> Sample:
    """Balance groups.

    Parameters
    ----------
    groups : Tensor, (n,), int64
        Labels of the points' groups.
    how : "reweight" or "subsample"
        All points, weighted; or as many of each group as the smallest one has.
    seed : int
        Draws the subsample, by the stream ``balancing``.

    Returns
    -------
    Sample
        Of all groups with points.
    """
    if how == "reweight":
        n_points = len(groups)
        points = torch.arange(n_points, device=groups.device)
    else:
        points = subsample(groups, seed)
    sampled = groups[points]
    means = environment_means(sampled)
    return Sample(points, weights=means.mean(0))


def subsample(groups: Tensor, seed: int) -> Tensor:
    """Numbers (s,) of equally many points of each group, rising."""
    random = stream(seed, "balancing")
    n_points = len(groups)
    permutation = random.permutation(n_points)
    order = torch.from_numpy(permutation).to(groups.device)
    ordered = groups[order]
    names, sizes = groups.unique(return_counts=True)
    smallest = int(sizes.min())
    kept = []
    for name in names:
        in_group = ordered == name
        of_group = order[in_group]
        kept.append(of_group[:smallest])
    points = torch.cat(kept)
    return points.sort().values
