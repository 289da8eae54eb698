r"""Heterogeneous risk minimisation, HRM (Liu, Hu, Cui, Li & Shen, ICML 2021).

KerHRM's predecessor: linear models on raw features, whose invariant part gates select.  A
clustering of the variant part and a selection of the invariant one take turns:

1. M_c: K linear models on (1 - p) x, p being the probabilities of the gates, each point in
   the cluster of its smallest squared residual.  There is no intercept, with which clusters
   would split the labels as soon as all features are kept.
2. M_p: stochastic gates :math:`g = \mathrm{clamp}(c + \sigma \epsilon, 0, 1)`, one standard
   normal epsilon per feature and step, and

   .. math::
        \min_{w, c} \; \frac{1}{|E|} \sum_e L^e(g \cdot w) + \alpha \sum_d g_d \,
        \mathrm{Var}_e \Big( \frac{\partial L^e}{\partial w_d} \Big)
        + \lambda \sum_d p_d, \qquad p_d = P(g_d > 0) = \Phi(c_d / \sigma).

alpha and lambda grow from turn to turn.  In the end, least squares on the features of p_d
above a threshold.  The loss is squared (labels -1 and +1), hence all gradients are functions
of the environments' second moments, and a step takes no pass over the points.

The authors' code, unlike their text, has :math:`\lambda (\sum_d p_d - d)^2`, which pulls gates
open, in place of the expected number of open gates: ``gate_goal`` chooses.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from kerhrm.data.samples import Inferred, Samples, memberships
from kerhrm.methods.hrm.options import HRM
from kerhrm.methods.linear import least_norm
from kerhrm.networks.adam import Adam
from kerhrm.networks.protocol import Network
from kerhrm.randomness import stream
from kerhrm.storage.checkpoints import once

SMALL = 32  #: dimension up to which a CPU is faster with all seeds in one step


class Turn(NamedTuple):
    """What a turn of clustering and selection leaves."""

    p: Tensor  #: probabilities of the gates, (B, d), that the clustering went by
    models: Tensor  #: linear models of its clusters, (B, K, d)
    centre: Tensor  #: the gates' new centres, (B, d)


def train_hrm(samples: Samples, network: Network, options: HRM) -> Inferred:
    """Cluster and select in turn, then least squares on what is kept.

    Validation points, environment labels and ``network`` are not looked at; x is neither centred
    nor scaled.  The predictor is linear, without intercept.  Its environments are the clusters of
    the last turn, and a point goes to that of its smallest squared residual.
    """
    x, y, seeds = samples.x, samples.y, samples.seeds
    every = torch.cat([x, samples.x_validation], 1), torch.cat([y, samples.y_validation], 1)
    together = 1 if x.device.type == "cpu" and x.shape[-1] > SMALL else len(seeds)
    parts, splits = [], []
    for first in range(0, len(seeds), together):
        rows = slice(first, first + together)
        last = select_features(x[rows], y[rows], seeds[rows], options)
        parts.append(least_squares(x[rows], y[rows], kept_features(last.centre, options)))
        points, labels = (part[rows] for part in every)
        splits.append(nearest(variant(points, last.p), labels, last.models))
    w, split = torch.cat(parts), torch.cat(splits)
    return Inferred(
        lambda points: (points @ w.unsqueeze(-1)).squeeze(-1), memberships(split, options.clusters)
    )


def select_features(x: Tensor, y: Tensor, seeds: Sequence[int], options: HRM) -> Turn:
    """The turns of clustering and selection, of x (B, n, d) and y (B, n): the last of them."""
    start = 2 * least_squares(x, y, torch.ones_like(x[:, 0], dtype=torch.bool))  # gates of 1/2
    p = torch.zeros_like(start)

    def one_turn(turn: int, p: Tensor) -> dict[str, Tensor]:
        environment, models = cluster(x, y, p, seeds, options, str(turn))
        within = moments(x, y, environment, options.clusters)
        growth = options.growth**turn
        centre, _ = learn_gates(within, start, seeds, options, str(turn), growth=growth)
        return Turn(p, models, centre)._asdict()

    for turn in range(options.iterations):
        last = Turn(**once("turn of HRM", functools.partial(one_turn, turn, p), x.device))
        p = gate_probability(last.centre, options.gate_noise)
    return last


def gate_probability(centre: Tensor, sigma: float) -> Tensor:
    """P(clamp(c + sigma epsilon, 0, 1) > 0) for a standard normal epsilon."""
    return torch.special.ndtr(centre / sigma)


def kept_features(centre: Tensor, options: HRM) -> Tensor:
    """Gates above the threshold, (B, d) bool, or the most open one where there is none.

    Without any feature all outputs are zero, which is no class.
    """
    kept = gate_probability(centre, options.gate_noise) > options.threshold
    most = torch.zeros_like(kept).scatter_(-1, centre.argmax(-1, keepdim=True), True)
    return torch.where(kept.any(-1, keepdim=True), kept, most)


def least_squares(x: Tensor, y: Tensor, kept: Tensor) -> Tensor:
    """Coefficients of least norm, zero off ``kept``: (B, n, d), (B, n), (B, d) to (B, d)."""
    return least_norm((x * kept.unsqueeze(-2)).double(), y.double()).squeeze(-1).to(x)


class Moments(NamedTuple):
    """Second moments of every environment, zero where it has no point."""

    gram: Tensor  #: X^T R_e X / N_e, (B, K, d, d)
    cross: Tensor  #: X^T R_e y / N_e, (B, K, d)
    occupied: Tensor  #: (B, K), bool


def moments(x: Tensor, y: Tensor, environment: Tensor, k: int) -> Moments:
    """Of the environments 0, ..., k - 1: x (B, n, d), y (B, n), environment (B, n)."""
    gram = x.new_zeros(len(x), k, x.shape[-1], x.shape[-1])
    cross = x.new_zeros(len(x), k, x.shape[-1])
    count = torch.zeros(len(x), k, dtype=torch.int64)
    for b in range(len(x)):
        for e in range(k):
            rows = environment[b] == e
            points, count[b, e] = x[b, rows], rows.sum()
            gram[b, e], cross[b, e] = points.T @ points, y[b, rows] @ points
    size = count.to(x).clamp_min(1)
    return Moments(gram / size[..., None, None], cross / size[..., None], (count > 0).to(x.device))


def cluster(
    x: Tensor, y: Tensor, p: Tensor, seeds: Sequence[int], options: HRM, name: str
) -> tuple[Tensor, Tensor]:
    r"""M_c: split the points by linear models of the variant part (1 - p) x.

    From a random assignment and from zero: an equal share of the steps of Adam on every
    cluster's mean squared residual :math:`+ (l_1 / d) \sum_d p_d |w_d|`, then reassignment,
    ``cluster_rounds`` times.  That number is fixed, so no seed stops another.  A cluster that
    has lost all its points keeps its model and may win some back.

    x (B, n, d), y (B, n), p (B, d) to clusters (B, n), int64, and their linear models (B, K, d);
    ``name`` is the random start's.
    """
    (_, n, d), k = x.shape, options.clusters
    start = np.stack([stream(seed, "hrm", "clusters", name).integers(k, size=n) for seed in seeds])
    environment = torch.from_numpy(start).to(x.device)
    left, l1 = variant(x, p), options.cluster_l1 / d * p.unsqueeze(-2)
    w = x.new_zeros(len(x), k, d)
    ends = np.arange(options.cluster_rounds + 1) * options.cluster_steps // options.cluster_rounds
    for steps in np.diff(ends):
        w = fit_centres(w, moments(left, y, environment, k), l1, steps, options.cluster_rate)
        environment = nearest(left, y, w)
    return environment, w


def variant(x: Tensor, p: Tensor) -> Tensor:
    """(1 - p) x of points (B, n, d) and probabilities (B, d)."""
    return (1 - p).unsqueeze(-2) * x


def nearest(x: Tensor, y: Tensor, models: Tensor) -> Tensor:
    """Cluster of the smallest squared residual: (B, n, d), (B, n), (B, K, d) to (B, n), int64."""
    return (models @ x.mT - y.unsqueeze(-2)).square().argmin(-2)


@torch.no_grad()
def fit_centres(start: Tensor, within: Moments, l1: Tensor, steps: int, rate: float) -> Tensor:
    """Adam on w^T G w - 2 c^T w + sum_d l1_d |w_d| from (B, K, d), with ``l1`` (B, 1, d)."""
    gram, cross = 2 * within.gram.flatten(0, 1), -2 * within.cross.flatten(0, 1).unsqueeze(1)
    w = start.clone()
    optimiser = Adam([w], rate)
    for _ in range(steps):
        # rows times symmetric matrices: matrices times columns are slow in batches
        gradient = torch.baddbmm(cross, w.flatten(0, 1).unsqueeze(1), gram).view_as(w)
        w.grad = gradient.addcmul_(l1, w.sign())
        optimiser.step()
    return w


@torch.no_grad()
def learn_gates(
    within: Moments,
    start: Tensor,
    seeds: Sequence[int],
    options: HRM,
    name: str,
    growth: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """M_p: centres, from 1/2, and w, from ``start``, for given environments, by Adam.

    All are (B, d).  ``name`` is the gates' noise's; ``growth`` multiplies alpha and lambda.
    """
    size, sigma = (options.gate_steps, start.shape[-1]), options.gate_noise
    draws = [stream(seed, "hrm", "gates", name).standard_normal(size, "float32") for seed in seeds]
    noise = sigma * torch.from_numpy(np.stack(draws, axis=1)).to(start)
    slope, offset = gradient_rows(within)
    penalty, cost = growth * options.penalty, growth * options.gate_cost
    both = torch.stack([start, torch.full_like(start, 0.5)])
    w, centre = both  # views
    optimiser = Adam([both], options.gate_rate)
    for epsilon in noise:
        by_w, by_centre = gate_gradients(w, centre, epsilon, slope, offset, penalty)
        both.grad = torch.stack([by_w, by_centre + cost * cost_gradient(centre, options)])
        optimiser.step()
    return centre, w


def gradient_rows(within: Moments) -> tuple[Tensor, Tensor]:
    r"""Mean and contrasts of the environments' gradients with respect to v = g w.

    The gradient of L^e is 2 (G_e v - c_e).  A contrast is an environment less the mean of
    those before it, with Welford's factors: the squares of all sum to the variance.

    Returns
    -------
    slope : Tensor, (B, K d, d)
        Symmetric blocks, the mean's and K - 1 contrasts'.
    offset : Tensor, (B, 1, K d)
    """
    b, k, d = within.cross.shape
    occupied = within.occupied.to(within.gram)
    before = occupied.cumsum(-1) - occupied
    total = occupied.sum(-1, keepdim=True)
    earlier = occupied.unsqueeze(-2).expand(b, k, k).tril(-1) / before.clamp_min(1).unsqueeze(-1)
    rows = torch.eye(k, dtype=occupied.dtype, device=occupied.device) - earlier
    rows *= (occupied * (before / ((before + 1) * total)).sqrt()).unsqueeze(-1)
    rows[:, 0] = occupied / total  # no environment is before the first
    slope = 2 * (rows @ within.gram.flatten(2)).view(b, k * d, d)
    return slope, -2 * (rows @ within.cross).view(b, 1, k * d)


def gate_gradients(
    w: Tensor, centre: Tensor, noise: Tensor, slope: Tensor, offset: Tensor, alpha: float
) -> tuple[Tensor, Tensor]:
    r"""Derivatives (B, d) of risk and penalty with respect to w and c.

    With the contrasts delta_j of :func:`gradient_rows` the penalty is
    :math:`\alpha \sum_d g_d^3 \sum_j \delta_{jd}^2`: the derivative with respect to w_d is
    g_d times that with respect to v_d.  ``noise`` (B, d) is sigma epsilon.
    """
    b, d = w.shape
    opened = centre + noise
    gate = opened.clamp(0, 1)
    gradients = torch.baddbmm(offset, (gate * w).unsqueeze(1), slope.mT)
    mean, contrasts = gradients[..., :d], gradients[..., d:].view(b, -1, d)
    square = gate * gate
    cubed = (contrasts * (gate * square).unsqueeze(1)).view(b, 1, -1)
    by_v = torch.baddbmm(mean, cubed, slope[:, d:], alpha=2 * alpha).squeeze(1)
    variance = contrasts.square().sum(1)
    by_gate = torch.addcmul(w * by_v, square, variance, value=3 * alpha)
    return gate * by_v, by_gate * (gate == opened)


def cost_gradient(centre: Tensor, options: HRM) -> Tensor:
    """Derivative of sum_d p_d, or of (sum_d p_d - d)^2, with respect to c: (B, d)."""
    sigma = options.gate_noise
    density = torch.exp(centre.square() * (-0.5 / sigma**2)) / (sigma * math.sqrt(2 * math.pi))
    if options.gate_goal == "all":
        density *= 2 * (gate_probability(centre, sigma) - 1).sum(-1, keepdim=True)
    return density
