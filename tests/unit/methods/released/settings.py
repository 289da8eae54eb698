"""Sizes, options and memberships of tests of the authors' code."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from kerhrm.methods.released import (
    ReleasedOptions,
)

N = 80


K_MAX = 6


K = 4


SEED = 11


def options(**changes: Any) -> ReleasedOptions:
    defaults = {
        "k": K,
        "n_iterations": 2,
        "steps": 40,
    }
    return ReleasedOptions(**defaults | changes)


def members(n_clusters: int, empty: int | None = None) -> Tensor:
    """Hard memberships (N, K); one cluster may have no points."""
    rng = np.random.default_rng(1)
    clusters = rng.integers(n_clusters, size=N)
    labels = torch.from_numpy(clusters)
    if empty is not None:
        labels[labels == empty] = (empty + 1) % n_clusters
    return one_hot(labels, n_clusters).double()


def with_ones(psi: Tensor) -> Tensor:
    ones = torch.ones_like(psi[:, :1])
    return torch.cat([psi, ones], 1)
