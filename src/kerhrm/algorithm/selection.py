"""The rule that picks hyper-parameters without test data and without environment labels.

Invariance is a promise about every environment, so a candidate is judged by its worst
result over the environments that were *learned*:

    score(f) = min_e  sum_i r_ie s(f(x_i), y_i) / sum_i r_ie ,

s = accuracy (classification) or minus the squared error (regression).  The minimum runs
over the environments learned under every candidate k and in every iteration so far, so
that all candidates are measured by one yardstick, and a candidate cannot look good
because its own environments are easy.  Pooled validation accuracy, the paper's rule,
rewards the spurious feature.
"""

import sys
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from kerhrm.data.dataset import Task

if TYPE_CHECKING:
    from torch import Tensor

#: PyTorch's or NumPy's: scoring uses the rule, too, and need not spend two seconds on PyTorch
Array = TypeVar("Array", np.ndarray, "Tensor")


def point_scores(predictions: Array, y: Array, task: Task) -> Array:
    """Score of every point (..., m), the larger the better: correct (0/1) or minus squared error.

    ``y`` is broadcastable to the predictions (..., m); scores are float64.
    """
    if task == "classification":
        return _double((predictions > 0) == (y > 0))
    return -(_double(predictions - y) ** 2)


def worst_environment_score(scores: Array, responsibilities: Array) -> Array:
    """Lowest mean score over soft environments, (B, C).

    Of point scores (B, C, m) of C candidates and memberships (B, E, m) of the points in E
    environments; environments without any point (weight 0) are left out.
    """
    library: Any = _library(scores)
    weight = responsibilities.sum(-1)  # (B, E)
    per_environment = scores @ responsibilities.mT / weight.clip(1e-9)[:, None]
    occupied = (weight > 1e-9)[:, None]
    return library.amin(library.where(occupied, per_environment, library.inf), -1)


def pooled_score(scores: Array) -> Array:
    """Mean score over all validation points, (B, C, m) to (B, C): the paper's rule."""
    return scores.mean(-1)


def _library(array: Any) -> Any:
    """The package that an array is of, which therefore has been imported."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def _double(array: Any) -> Any:
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double()
