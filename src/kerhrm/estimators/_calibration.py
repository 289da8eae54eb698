"""Probabilities of two labels from outputs of rows that a model has not seen.

    P(+1 | x) = 1 / (1 + exp(-a f(x))),    a >= 0,

is Platt's sigmoid without a constant: it is above 1/2 where f is above 0, so that the
more probable label is the one that is predicted.  The slope a has the least log loss,
with Platt's targets (m + 1) / (m + 2) in place of 1 for the m rows of a label, and 1 /
(m + 2) in place of 0 ("Probabilistic Outputs for Support Vector Machines", 1999), which
keep it finite where labels are told apart.
"""

import numpy as np
from scipy.optimize import minimize_scalar

#: largest slope that is tried; outputs that separate the labels perfectly end there
STEEPEST = 100.0


def sigmoid_slope(
    outputs: np.ndarray, positive: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Slope a of the sigmoid, of outputs (n,), labels (n,), bool, and weights (n,)."""
    if weights is None:
        n_points = len(outputs)
        weights = np.ones(n_points)
    of_positive = weights[positive]
    n_positive = of_positive.sum()
    of_negative = weights[~positive]
    n_negative = of_negative.sum()
    high = (n_positive + 1) / (n_positive + 2)
    low = 1 / (n_negative + 2)
    target = np.where(positive, high, low)

    def log_loss(slope: float) -> float:
        scores = slope * outputs
        expected = target * scores
        losses = np.logaddexp(0, scores) - expected
        total = weights @ losses
        return float(total)

    found = minimize_scalar(log_loss, bounds=(0, STEEPEST), method="bounded")
    return float(found.x)


def probabilities(outputs: np.ndarray, slope: float) -> np.ndarray:
    """Probabilities (n,) of the second label."""
    scores = np.clip(slope * outputs, -500, 500)
    odds_against = np.exp(-scores)
    probability = 1 / (1 + odds_against)
    return np.asarray(probability)
