"""What the linear methods share."""

import torch
from torch import Tensor


def least_norm(x: Tensor, y: Tensor) -> Tensor:
    """The shortest minimiser b of |x b - y|^2: (B, n, d), (B, n) to (B, d, 1), float64.

    Collinear predictors are no harm to the pseudo-inverse, by SVD.  The points are rounded to
    single precision: smaller singular values are that rounding.
    """
    noise = max(x.shape[-2:]) * torch.finfo(torch.float32).eps
    return torch.linalg.pinv(x, rtol=noise) @ y.unsqueeze(-1)
