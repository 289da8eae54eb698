r"""KerHRM as its authors released it, from a description of that code's behaviour.

Every departure from the paper is an option (:class:`kerhrm.released.options.Released`), whose
other choice is the paper's.  In turn, ``iterations`` times:

M_c
    hard clusters of Psi_V (:mod:`kerhrm.released.clustering`);
M_p
    theta from the clusters 0, ..., E - 1 alone (E = ``environments_used``), by Adam from a
    Xavier start of gain 0.1 for a fixed number of steps, on

    .. math:: \frac{1}{E} \sum_e L^e(\theta) + \frac{2 \lambda}{E (E - 1)} \sum_{e < f} D_{ef}

    with :math:`L^e` the mean squared error of :math:`f = f_0 + \psi^\top \theta` in cluster e.
    ``scale_gradient``: :math:`D_{ef} = (g_e - g_f)^2` for IRMv1's
    :math:`g_e = \partial L^e(s f) / \partial s` at s = 1.  ``gradient_variance``:
    :math:`D_{ef} = |\nabla L^e - \nabla L^f|^2 / k`.  With E = 2 there is one pair;
feedback
    Psi_V of the next iteration is Psi without theta.

No network is trained: f is the predictor.

Two details differ from the published script.  It clusters the raw y; here the clusters' models
explain y - f_0, as everywhere else in this project, so that f_0 is the offset of M_c and M_p
alike.  Its intercepts start from the layer's default; here they start at 0.  Both done its way
changed an accuracy of .587 to .605, which is harmless.

What is known of that code leaves these points open, which are settled here as follows.  The
clusters' models start anew each time they are fitted, and so does theta unless
``reuse_theta``.  Intercepts are not penalised.  Xavier's uniform version is used.  A cluster
without points is left out of M_p.  More than two environments have the mean over their pairs
for a penalty.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kerhrm.algorithm.invariant import environment_risks, invariant_direction
from kerhrm.algorithm.mixture import orthogonal_update, random_starts
from kerhrm.algorithm.problem import Problem
from kerhrm.errors import KerhrmError
from kerhrm.released.clustering import adam, assign, xavier
from kerhrm.released.options import Released
from kerhrm.storage.checkpoints import once
from kerhrm.storage.records import Record

GAIN = 0.1  # of theta's Xavier start
RIDGE = 1e-9  # of the converged theta: the clusters in use may hold fewer than k points


@dataclass(frozen=True)
class ReleasedIteration(Record):
    """What one iteration leaves.

    Attributes
    ----------
    members : Tensor, (B, n, K)
        The clusters; hard ones have a single 1 in a row.
    theta : Tensor, (B, k_max), zero beyond k
    """

    members: Tensor
    theta: Tensor


def train_released(problem: Problem, options: Released, environments: None = None) -> Tensor:
    """Directions (B, k_max) after the last iteration; errors as :func:`iterate_released`."""
    for last in iterate_released(problem, options):  # noqa: B007
        pass
    return last.theta


def iterate_released(problem: Problem, options: Released) -> Iterator[ReleasedIteration]:
    """What iterations t = 1, ... leave, one after the other.

    The first k columns of Psi are used.  The problem's seeds are those of the first assignment
    and of all models' starts.

    Raises
    ------
    KerhrmError
        If k exceeds the number of columns, or K the number of points; if the clusters that
        M_p uses hold no point at all.
    """
    psi_all, f0, y, seeds = problem.psi_train, problem.f0_train, problem.y, problem.seeds
    n, k_max = psi_all.shape[-2:]
    if options.k > k_max:
        raise KerhrmError(f"k={options.k} exceeds the {k_max} reduced features", "lower k")
    if options.clusters > n:
        raise KerhrmError(f"K={options.clusters} clusters exceed n={n} points", "lower K")
    variant = psi = psi_all[..., : options.k]
    members: Tensor | None = None
    theta: Tensor | None = None

    def iterate(
        t: int, variant: Tensor, members: Tensor | None, theta: Tensor | None
    ) -> dict[str, Tensor]:
        if members is None or not options.reuse_assignment:
            starts = random_starts(seeds, 1, n, options.clusters, "released", f"t={t}")
            members = starts[:, 0].to(psi)
        members = assign(variant, problem.target, members, options, seeds, t)
        if theta is None or not options.reuse_theta:
            theta = xavier(seeds, (options.k,), GAIN, "theta", f"t={t}").to(psi)
        used = members[..., : options.environments_used]
        return {"members": members, "theta": learn_theta(psi, f0, y, used, theta, options)}

    for t in range(1, options.iterations + 1):
        iteration = functools.partial(iterate, t, variant, members, theta)
        done = once("iteration", iteration, psi.device)
        members, theta = done["members"], done["theta"]
        yield ReleasedIteration(members, torch.nn.functional.pad(theta, (0, k_max - options.k)))
        variant = orthogonal_update(psi, theta)


def learn_theta(
    psi: Tensor, f0: Tensor, y: Tensor, members: Tensor, start: Tensor, options: Released
) -> Tensor:
    """M_p: theta (B, k), by Adam from ``start`` (B, k).

    Parameters
    ----------
    psi, f0, y : Tensor, (B, n, k), (B, n), (B, n)
    members : Tensor, (B, n, E)
        Of the clusters in use; the points of the others have only zeros.
    """
    k, n_environments = psi.shape[-1], members.shape[-1]
    if not bool(members.any(-1).any(-1).all()):
        raise KerhrmError(
            f"clusters 0 to {n_environments - 1} have no points", "set environments_used to K"
        )
    if options.theta == "converged":
        occupied = members.any(-2).sum(-1)
        # the mean over pairs is 2 E / (E - 1) times the variance
        alpha = options.weight / k * 2 * occupied / (occupied - 1).clamp_min(1)
        return invariant_direction(psi, y - f0, members, alpha, ridge=RIDGE)
    risks = Risks(psi, f0, y, members)
    of_scale = options.penalty == "scale_gradient"
    penalty = risks.scale_penalty_gradient if of_scale else risks.theta_penalty_gradient

    def gradient(step: int, u: Tensor) -> Tensor:
        weight = options.weight if step > options.anneal else options.first_weight
        return risks.mean_gradient(u).add_(penalty(u), alpha=weight)

    u = torch.nn.functional.pad(start, (0, 1), value=1.0)
    u = adam(u, gradient, steps=options.steps, rate=options.learning_rate)
    return u[:, :k]


class Risks:
    r"""Mean squared errors of the clusters in use, from their second moments.

    With z = (psi, f_0), u = (theta, 1), S_e the mean of z z^T and x_e that of z y,

        L^e = u^T S_e u - 2 x_e^T u + const,      g_e = 2 u^T (S_e u - x_e).

    Every method maps u (B, k + 1) to a gradient (B, k + 1).  Its last entry is 0: the
    coefficient of f_0 stays at 1.  Clusters without points are left out.
    """

    def __init__(self, psi: Tensor, f0: Tensor, y: Tensor, members: Tensor) -> None:
        z = torch.cat([psi, f0.unsqueeze(-1)], dim=-1)
        self.second, self.cross = environment_risks(z, y, members)
        occupied = members.any(-2).to(psi)
        count = occupied.sum(-1, keepdim=True)
        self.mean = occupied / count
        #: the mean over pairs of squared differences, from the deviations' squares
        self.pairs = 2 * occupied / (count - 1).clamp_min(1)
        self.free = torch.ones_like(z[0, 0])
        self.free[-1] = 0

    def mean_gradient(self, u: Tensor) -> Tensor:
        """Of the mean risk."""
        return self._mean(2 * self._residual(u)).mul_(self.free)

    def scale_penalty_gradient(self, u: Tensor) -> Tensor:
        """Of the mean over pairs of (g_e - g_f)^2."""
        residual = self._residual(u)
        slope = 2 * (residual * u.unsqueeze(-2)).sum(-1)
        factor = 2 * self.pairs * (slope - (self.mean * slope).sum(-1, keepdim=True))
        slope_gradient = 4 * residual + 2 * self.cross
        return (factor.unsqueeze(-1) * slope_gradient).sum(-2).mul_(self.free)

    def theta_penalty_gradient(self, u: Tensor) -> Tensor:
        """Of the mean over pairs and over the k coordinates of (grad L^e - grad L^f)^2."""
        slopes = 2 * self._residual(u) * self.free
        factor = 4 * self.pairs / (len(self.free) - 1)
        deviations = factor.unsqueeze(-1) * (slopes - self._mean(slopes).unsqueeze(-2))
        return (self.second @ deviations.unsqueeze(-1)).squeeze(-1).sum(-2).mul_(self.free)

    def _residual(self, u: Tensor) -> Tensor:
        """S_e u - x_e, (B, E, k + 1)."""
        return (self.second @ u[:, None, :, None]).squeeze(-1) - self.cross

    def _mean(self, values: Tensor) -> Tensor:
        """Mean over the clusters with points: (B, E, k + 1) to (B, k + 1)."""
        return (self.mean.unsqueeze(-1) * values).sum(-2)
