r"""Heterogeneous risk minimisation, HRM (Liu, Hu, Cui, Li & Shen, ICML 2021).

KerHRM's predecessor: linear models on raw features, whose invariant part gates select.
A clustering of the variant part and a selection of the invariant one take turns:

1. M_c: K linear models on (1 - p) x, p being the probabilities of the gates, each point
   in the cluster of its smallest squared residual.  There is no intercept, with which
   clusters would split the labels as soon as all features are selected.
2. M_p: stochastic gates :math:`g = \mathrm{clamp}(c + \sigma \epsilon, 0, 1)`, one
   standard normal epsilon per feature and step, and

   .. math::
        \min_{w, c} \; \frac{1}{|E|} \sum_e L^e(g \cdot w) + \alpha \sum_d g_d \,
        \mathrm{Var}_e \Big( \frac{\partial L^e}{\partial w_d} \Big)
        + \lambda \sum_d p_d, \qquad p_d = P(g_d > 0) = \Phi(c_d / \sigma).

alpha and lambda grow from turn to turn.  In the end, least squares on the features of
p_d above a threshold.  The loss is squared (labels -1 and +1), hence all gradients are
functions of the environments' second moments, and a step takes no pass over the points.

The authors' code, unlike their text, has :math:`\lambda (\sum_d p_d - d)^2`, which
pulls gates open, in place of the expected number of open gates: ``gate_goal`` chooses.
"""

import numpy as np
import torch
from torch import Tensor

from kerhrm.methods.hrm_clusters import cluster, nearest
from kerhrm.methods.hrm_gates import gate_probability, gradient_rows, learn_gates
from kerhrm.methods.inputs import Fitted, Inputs, one_hot_environments
from kerhrm.methods.options import HRMOptions
from kerhrm.methods.references import least_norm
from kerhrm.progress import progress


def train_hrm(inputs: Inputs, options: HRMOptions) -> Fitted:
    """Cluster and select in turn, then least squares on the selected features.

    x is neither centred nor scaled, and the predictor has no intercept.  Its
    environments are the clusters of the last turn, and a point goes to that of its
    smallest squared residual.
    """
    x = inputs.x
    y = inputs.y
    _, d = x.shape
    everything = torch.ones(d, dtype=torch.bool)
    coefficients = least_squares(x, y, everything)
    start = 2 * coefficients.cpu().numpy()  # gates of 1/2
    p = np.zeros_like(start)
    turns = range(options.n_iterations)
    for turn in progress(turns, "iterations"):
        clustered_by = torch.from_numpy(p).to(x)
        environments, models = cluster(
            x, y, clustered_by, inputs.seed, options, str(turn)
        )
        gradients = gradient_rows(x, y, environments)
        centre, _ = learn_gates(
            gradients,
            start,
            inputs.seed,
            options,
            name=str(turn),
            growth=options.growth**turn,
        )
        p = gate_probability(centre, options.gate_noise)
    chosen = selected_features(centre, options)
    selected = torch.from_numpy(chosen)
    w = least_squares(x, y, selected)
    if not np.isfinite(centre).all():
        w = torch.full_like(w, torch.nan)  # diverged gates select nothing
    points = torch.cat([x, inputs.x_validation])
    labels = torch.cat([y, inputs.y_validation])
    variant = (1 - clustered_by) * points
    split = nearest(variant, labels, models)
    return Fitted(
        networks={"model": lambda points: points @ w},
        environments=one_hot_environments(split, options.n_environments),
    )


def selected_features(centre: np.ndarray, options: HRMOptions) -> np.ndarray:
    """Gates above the threshold, (d,) bool, or the most open one where there is none.

    Without any feature all outputs are zero, which is no class.
    """
    p = gate_probability(centre, options.gate_noise)
    selected = p > options.threshold
    if selected.any():
        return selected
    numbers = np.arange(len(centre))
    return numbers == centre.argmax()


def least_squares(x: Tensor, y: Tensor, selected: Tensor) -> Tensor:
    """Coefficients of least norm (d,), zero off ``selected`` (d,), of points (n, d),
    (n,)."""
    mask = selected.to(x.device)
    columns = x * mask
    coefficients = least_norm(columns.double(), y.double())
    return coefficients.to(x)
