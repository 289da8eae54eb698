"""Linear systems that say when they are ill-conditioned."""

import logging

import torch
from torch import Tensor

LEAST = 1e-12  #: reciprocal condition number below which four digits or fewer are left

log = logging.getLogger(__name__)


def solve(matrix: Tensor, target: Tensor, name: str) -> Tensor:
    """A^-1 b of small systems, float64: A (..., k, k), b (..., k), name for the log to (..., k).

    One warning a call, with the smallest 1 / (|A|_1 |A^-1|_1), where that is below 1e-12.  The
    inverse costs three further solves' worth of the same factors, and solves nothing.

    Raises
    ------
    torch.linalg.LinAlgError
        If a matrix is exactly singular.
    """
    factors, pivots = torch.linalg.lu_factor(matrix)
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    inverse = torch.linalg.lu_solve(factors, pivots, eye.expand_as(matrix))
    reciprocal = 1 / (torch.linalg.matrix_norm(matrix, 1) * torch.linalg.matrix_norm(inverse, 1))
    if not bool((reciprocal >= LEAST).all()):
        bad, worst = int((~(reciprocal >= LEAST)).sum()), float(reciprocal.min())
        log.warning(
            "%s: %d of %d systems are ill-conditioned, 1/cond down to %.1e; raise the ridge",
            name, bad, reciprocal.numel(), worst,
        )  # fmt: skip
    return torch.linalg.lu_solve(factors, pivots, target.unsqueeze(-1)).squeeze(-1)
