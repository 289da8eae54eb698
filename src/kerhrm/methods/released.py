r"""KerHRM as its authors released it, from a description of that code's behaviour.

In turn, ``n_iterations`` times:

M_c
    K hard clusters of Psi_V, each with a linear model of its own.  From the last
    assignment on (the first is random), in turn: models are fitted from a fresh Xavier
    start by Adam on

    .. math:: \frac{1}{N_j} \sum_{i \in j} (y_i - \psi_i^\top w_j - b_j)^2
              + \frac{\lambda}{k} \sum_a |w_{ja}| ,

    and every point moves to the cluster with the smallest :math:`|y_i - \psi_i^\top w_j
    - b_j|`, until at most ``STOP_SHARE`` n / K points move;
M_p
    theta from the clusters 0 and 1 alone, by Adam from a Xavier start of gain 0.1 for a
    fixed number of steps, on :math:`(L^0 + L^1) / 2 + \lambda P`, with :math:`L^e` the
    mean squared error of :math:`f = f_0 + \psi^\top \theta` in cluster e.  The two
    published scripts have different penalties,

    .. math::
        P = (g_0 - g_1)^2, \quad g_e = \partial L^e(s f) / \partial s \text{ at } s = 1
        \qquad \text{(classification, IRMv1's)}

        P = \frac{1}{k} \sum_{a=1}^k \left(\partial L^0 / \partial \theta_a
        - \partial L^1 / \partial \theta_a\right)^2 \qquad \text{(regression)}

feedback
    Psi_V of the next iteration is Psi without theta.

No network is trained: f is the predictor.  All losses depend on the points through
their moments alone, so that a step of Adam costs the same however many points there
are.

Three details differ from the published scripts by default, and are options:
``clustering_target`` (the scripts cluster y; here the clusters' models explain y - f_0,
as everywhere else in this project, so that f_0 is the offset of M_c and M_p alike),
``intercept_start`` (the scripts' intercepts start from the layer's default) and
``max_reassignments`` (the scripts have no cap).  docs/algorithm.md compares the scripts
with the paper and with this module, row by row.

What is known of that code leaves these points open, which are settled here as follows.
The clusters' models start anew each time they are fitted, and so does theta.
Intercepts are not penalised.  Xavier's uniform version is used.  A cluster without
points is left out of M_p.
"""

import logging
import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.starts import random_starts
from kerhrm.algorithm.variant import orthogonal_update
from kerhrm.errors import KerhrmError
from kerhrm.methods.inputs import Fitted, Inputs
from kerhrm.methods.numpy_adam import adam, lasso_gradient
from kerhrm.methods.options import ReleasedOptions
from kerhrm.progress import progress
from kerhrm.randomness import stream

CLUSTER_STEPS = 3000  #: of Adam, on the clusters' models
CLUSTER_RATE = 1e-3  #: its learning rate
CLUSTER_L1 = 0.01  #: lambda of the clusters' models
STOP_SHARE = 0.1  #: clustering ends when at most this share of n / K points moves
ANNEAL = 500  #: steps of theta before the penalty's weight applies
GAIN = 0.1  #: of theta's Xavier start

log = logging.getLogger(__name__)


def train_released(inputs: Inputs, options: ReleasedOptions) -> Fitted:
    """Cluster and learn theta in turn, with the first k columns of Psi.

    Raises KerhrmError if k exceeds the reduced features, or is 1 and there are several
    iterations; if the clusters exceed the points; if the clusters that M_p uses hold no
    point at all.
    """
    problem = inputs.require_problem()
    _check_sizes(problem, options)
    k = options.k
    n, k_max = problem.u.shape
    psi, _ = problem.reduced(k)
    f0 = problem.f0_train.double()
    y = problem.y.double()
    target = problem.target
    if options.clustering_target == "label":
        target = y
    seed = problem.seed
    variant = psi
    (start,) = random_starts(seed, 1, n, options.n_environments, "released", "t=1")
    members = start.to(psi)
    iterations: dict[int, tuple[Tensor, Tensor | None]] = {}
    iteration_numbers = range(1, options.n_iterations + 1)
    for t in progress(iteration_numbers, "iterations"):
        members = assign(variant, target, members, seed, t, options)
        theta_start = xavier(seed, (k,), GAIN, "theta", f"t={t}")
        two_members = members[:, :2]
        theta = learn_theta(psi, f0, y, two_members, start=theta_start, options=options)
        variant = orthogonal_update(psi, theta)
        padded = pad(theta, (0, k_max - k))
        iterations[t] = padded, members
    theta, _ = iterations[options.n_iterations]
    return Fitted(directions={"model": theta}, chosen={"k": k}, iterations=iterations)


def _check_sizes(problem: Problem, options: ReleasedOptions) -> None:
    """Refuse more dimensions or clusters than there are features or points."""
    k = options.k
    n, k_max = problem.u.shape
    several = options.n_iterations > 1
    too_few = k == 1 and several
    if too_few or k > k_max:
        least = 2 if several else 1
        text = f"k must be from {least} to the {k_max} reduced features; got {k}"
        raise KerhrmError(text, "change k")
    if options.n_environments > n:
        text = f"n_environments={options.n_environments} exceeds n={n} points"
        raise KerhrmError(text, "use fewer")


def assign(
    psi: Tensor,
    y: Tensor,
    members: Tensor,
    seed: int,
    iteration: int,
    options: ReleasedOptions,
) -> Tensor:
    """Learn K clusters of points Psi_V (n, k), y - f_0 (n,) from memberships (n, K).

    Where they have not settled after ``max_reassignments``: the last ones, and a
    warning.
    """
    n, n_clusters = members.shape
    n_settled = STOP_SHARE * n / n_clusters
    intercept = torch.ones_like(psi[:, :1])
    features = torch.cat([psi, intercept], 1)
    for reassignment in range(1, options.max_reassignments + 1):
        name = (f"t={iteration}", f"reassignment={reassignment}")
        models = fit_models(features, y, members, seed, name, options.intercept_start)
        residuals = y[:, None] - features @ models.mT
        nearest = residuals.abs().argmin(-1)
        moved_to = one_hot(nearest, n_clusters).to(y)
        moved = (moved_to != members).any(-1)
        members = moved_to
        if int(moved.sum()) <= n_settled:
            return members
    log.warning(
        "t=%d: clusters not settled after %d reassignments",
        iteration,
        options.max_reassignments,
    )
    return members


def fit_models(
    features: Tensor,
    y: Tensor,
    members: Tensor,
    seed: int,
    name: tuple[str, ...],
    intercept_start: str = "zero",
) -> Tensor:
    """Coefficients (K, p) of the clusters' linear models, the intercepts' last.

    Of points (n, p) whose last column is one, (n,) and (n, K).  The random start of an
    empty cluster is only shrunk.  ``intercept_start``: ``zero``, or ``layer``, U(-a, a)
    with a = 1 / sqrt(p - 1), the default of PyTorch's linear layer.
    """
    risks = environment_risks(features, y, members)
    second = risks.second.cpu().numpy()
    cross = risks.cross.cpu().numpy()
    n_clusters, p = cross.shape
    start = np.zeros((n_clusters, p))
    shape = (n_clusters, p - 1)
    start[:, :-1] = xavier(seed, shape, 1.0, "centres", *name)
    if intercept_start == "layer":
        width = math.sqrt(p - 1)
        bound = 1 / width
        random = stream(seed, "released", "intercepts", *name)
        start[:, -1] = random.uniform(-bound, bound, n_clusters)
    l1 = np.zeros(p)
    l1[:-1] = CLUSTER_L1 / (p - 1)

    def gradient(step: int, w: np.ndarray) -> np.ndarray:
        return lasso_gradient(w, second, cross, l1)

    models = adam(start, gradient, steps=CLUSTER_STEPS, learning_rate=CLUSTER_RATE)
    return torch.from_numpy(models).to(features)


def xavier(seed: int, shape: tuple[int, ...], gain: float, *name: str) -> np.ndarray:
    """Uniform start of models with k inputs and one output (Glorot & Bengio 2010).

    U(-a, a) with a = gain sqrt(6 / (k + 1)), k the last entry of ``shape``.
    """
    *_, k = shape
    ratio = 6 / (k + 1)
    bound = gain * math.sqrt(ratio)
    random = stream(seed, "released", *name)
    return random.uniform(-bound, bound, shape)


def learn_theta(
    psi: Tensor,
    f0: Tensor,
    y: Tensor,
    members: Tensor,
    start: np.ndarray,
    options: ReleasedOptions,
) -> Tensor:
    """M_p: theta, by Adam.

    Parameters
    ----------
    psi : Tensor, (n, k)
        Features.
    f0 : Tensor, (n,)
        Outputs of the untrained network.
    y : Tensor, (n,)
        Labels.
    members : Tensor, (n, 2)
        Memberships in the clusters in use.
    start : ndarray, (k,)
        Of Adam.
    options : ReleasedOptions
        Of the penalty and its weight.

    Returns
    -------
    Tensor, (k,)
        theta.

    Raises
    ------
    KerhrmError
        If no point is in the clusters in use.
    """
    if not bool(members.any()):
        raise KerhrmError("clusters 0 and 1 have no points", "lower n_environments")
    risks = TwoRisks(psi, f0, y, members, options.penalty)

    def gradient(step: int, u: np.ndarray) -> np.ndarray:
        weight = options.penalty_weight if step > ANNEAL else options.first_weight
        return risks.gradient(u, weight)

    u = adam(
        np.append(start, 1.0),
        gradient,
        steps=options.steps,
        learning_rate=options.learning_rate,
    )
    theta = u[:-1]
    return torch.from_numpy(theta).to(psi)


class TwoRisks:
    r"""Mean squared errors of the clusters in use, from their second moments.

    With z = (psi, f_0), u = (theta, 1), S_e the mean of z z^T and x_e that of z y,

        L^e = u^T S_e u - 2 x_e^T u + const,      g_e = 2 u^T (S_e u - x_e),

    and the gradient with respect to theta is 2 (S_e u - x_e) without its last entry.  A
    cluster without points is left out; a single one has no penalty.
    """

    def __init__(
        self, psi: Tensor, f0: Tensor, y: Tensor, members: Tensor, penalty: str
    ) -> None:
        has_points = members.any(0)
        used = members[:, has_points]
        constant = f0[:, None]
        z = torch.cat([psi, constant], 1)
        risks = environment_risks(z, y, used)
        self.second = risks.second.cpu().numpy()
        self.cross = risks.cross.cpu().numpy()
        by_penalty = {
            "scale_gradients": self.scale_gradients,
            "theta_gradients": self.theta_gradients,
        }
        self.penalty_gradient = by_penalty[penalty]

    def gradient(self, u: np.ndarray, weight: float) -> np.ndarray:
        """Gradient (k + 1,) of mean risk + ``weight`` P; of f_0's coefficient 0."""
        residual = self.second @ u - self.cross  # S_e u - x_e, (E, k + 1)
        mean_residual = residual.mean(0)
        total = 2 * mean_residual
        if len(residual) == 2:
            slope = self.penalty_gradient(u, residual)
            total += weight * slope
        total[-1] = 0
        return total

    def scale_gradients(self, u: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Gradient (k + 1,) of P = (g_0 - g_1)^2, of u and S_e u - x_e (2, k + 1)."""
        first, second = residual
        difference = 2 * (first - second) @ u
        slope, other_slope = 4 * residual + 2 * self.cross  # of g_e
        return 2 * difference * (slope - other_slope)

    def theta_gradients(self, u: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Gradient (k + 1,) of P = |D|^2 / k, D = dL^0/dtheta - dL^1/dtheta.

        Of u (k + 1,) and S_e u - x_e (2, k + 1).
        """
        k = len(u) - 1
        first, second = residual
        difference = 2 * (first - second)[:k]
        moments, other_moments = self.second
        curvature = 2 * (moments - other_moments)[:, :k]  # of the difference
        return 2 / k * curvature @ difference
