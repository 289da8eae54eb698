"""Adam in NumPy, and the gradient of the lasso.

For a few dozen coordinates PyTorch's calls would cost several times more.
"""

import math
from collections.abc import Callable

import numpy as np

from kerhrm.progress import progress
from kerhrm.threads import one_blas_thread

#: coordinates from which BLAS would start threads, which cost more than they save
MIN_SIZE = 64
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # Adam's defaults


def adam(
    start: np.ndarray,
    gradient: Callable[[int, np.ndarray], np.ndarray],
    *,
    steps: int,
    learning_rate: float,
) -> np.ndarray:
    """Adam (Kingma & Ba 2015, algorithm 1) on ``gradient(step, w)``, step = 1, ...,
    ``steps``.

    On one thread.  The same numbers as ``torch.optim.Adam``, in the precision of
    ``start``, which is not changed.  Where it diverges, the result is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if start.size >= MIN_SIZE:
            with one_blas_thread():
                return _adam(start, gradient, steps, learning_rate)
        return _adam(start, gradient, steps, learning_rate)


def _adam(
    start: np.ndarray,
    gradient: Callable[[int, np.ndarray], np.ndarray],
    steps: int,
    learning_rate: float,
) -> np.ndarray:
    w = start.copy()
    first = np.zeros_like(w)
    second = np.zeros_like(w)
    step_numbers = range(1, steps + 1)
    for step in progress(step_numbers, "training steps"):
        slope = gradient(step, w)
        first += (1 - BETA1) * (slope - first)
        slope = slope * slope
        second += (1 - BETA2) * (slope - second)
        length = np.sqrt(second)
        length /= math.sqrt(1 - BETA2**step)
        length += EPSILON
        rate = learning_rate / (1 - BETA1**step)
        direction = first / length
        w -= rate * direction
    return w


def lasso_gradient(
    w: np.ndarray, second: np.ndarray, cross: np.ndarray, l1: np.ndarray
) -> np.ndarray:
    """Gradient of w^T S w - 2 x^T w + sum_a l1_a |w_a|; at w_a = 0 the subgradient 0.

    Shapes (K, p), (K, p, p), (K, p), (p,) to (K, p).
    """
    columns = second @ w[..., None]
    products = columns[..., 0]
    slopes = 2 * (products - cross)
    signs = np.sign(w)
    return slopes + l1 * signs
