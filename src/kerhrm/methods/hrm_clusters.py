"""Clustering of HRM (M_c): linear models without an intercept.

The objective is in :mod:`kerhrm.methods.hrm`.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.algorithm.invariance import environment_risks
from kerhrm.methods.numpy_adam import adam, lasso_gradient
from kerhrm.methods.options import HRMOptions
from kerhrm.randomness import stream


def cluster(
    x: Tensor, y: Tensor, p: Tensor, seed: int, options: HRMOptions, name: str
) -> tuple[Tensor, Tensor]:
    r"""M_c: split the points by linear models of the variant part (1 - p) x.

    From a random assignment and from zero: an equal share of the steps of Adam on every
    cluster's mean squared residual :math:`+ (l_1 / d) \sum_d p_d |w_d|`, then
    reassignment, ``cluster_rounds`` times.  A cluster that has lost all its points
    keeps its model and may win some back.

    x (n, d), y (n,), p (d,) to clusters (n,), int64, and their linear models (K, d);
    ``name`` is the random start's.
    """
    n, d = x.shape
    k = options.n_environments
    random = stream(seed, "hrm", "clusters", name)
    assigned = random.integers(k, size=n)
    numbers = torch.from_numpy(assigned)
    environments = numbers.to(x.device)
    variant = (1 - p) * x
    strength = options.cluster_l1 / d
    penalty = strength * p
    l1 = penalty.cpu().numpy()
    models = x.new_zeros(k, d)
    rounds = np.arange(options.cluster_rounds + 1)
    ends = rounds * options.cluster_steps // options.cluster_rounds
    n_steps = np.diff(ends)
    for steps in n_steps.tolist():
        second, cross = cluster_moments(variant, y, environments, k)
        fitted = fit_models(
            start=models.cpu().numpy(),
            second=second,
            cross=cross,
            l1=l1,
            steps=steps,
            learning_rate=options.cluster_rate,
        )
        models = torch.from_numpy(fitted).to(x)
        environments = nearest(variant, y, models)
    return environments, models


def nearest(x: Tensor, y: Tensor, models: Tensor) -> Tensor:
    """Cluster of the smallest squared residual: (n, d), (n,), (K, d) to (n,), int64."""
    residuals = models @ x.mT - y
    squares = residuals.square()
    return squares.argmin(0)


def cluster_moments(
    x: Tensor, y: Tensor, environments: Tensor, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """X_e^T X_e / N_e (k, d, d) and X_e^T y_e / N_e (k, d); zero where N_e is."""
    indicators = one_hot(environments, k)
    memberships = indicators.double()
    risks = environment_risks(x.double(), y.double(), memberships)
    second = risks.second.to(x.dtype)
    cross = risks.cross.to(x.dtype)
    return second.cpu().numpy(), cross.cpu().numpy()


def fit_models(
    start: np.ndarray,
    second: np.ndarray,
    cross: np.ndarray,
    l1: np.ndarray,
    steps: int,
    learning_rate: float,
) -> np.ndarray:
    """Adam on w^T G w - 2 c^T w + sum_d l1_d |w_d| from (K, d), for every cluster."""

    def gradient(step: int, w: np.ndarray) -> np.ndarray:
        return lasso_gradient(w, second, cross, l1)

    return adam(start, gradient, steps=steps, learning_rate=learning_rate)
