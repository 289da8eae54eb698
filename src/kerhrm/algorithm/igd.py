"""Step 3: invariant gradient descent, the network trained along theta_inv.

    w_inv = argmin_w  (1/n) |f_w(X) - y|^2
            + lambda (1 - cos(theta, g_w)),     g_w = S^-1 U^T (f_w(X) - f_0(X)),

g_w is the network's change, expressed in the reduced NTF space.  The paper prints |cos|,
which the opposite direction satisfies as well; the signed cosine is the default.  At
w = w_0 the cosine is 0/0: its denominator is |theta| (|g_w|^2 + (c |theta|)^2)^(1/2) with
c = 0.1, which leaves the optimum's direction alone and keeps the first gradients finite
(Adam remembers a huge one for a thousand steps).
"""

from typing import Literal

import torch
from torch import Tensor

from kerhrm.networks.protocol import N
from kerhrm.networks.training import train

SMOOTHING = 0.1  # c


def cosine_to_direction(
    f: Tensor, f0: Tensor, to_reduced: Tensor, theta: Tensor, smoothing: float = SMOOTHING
) -> Tensor:
    """cos(theta, S^-1 U^T (f - f_0)), smoothed at f = f_0.

    Parameters
    ----------
    f, f0 : Tensor, (B, n)
    to_reduced : Tensor, (B, n, k)
        U S^-1, with columns of zeros beyond the seed's own k.
    theta : Tensor, (B, k)

    Returns
    -------
    Tensor, (B,)
    """
    g = ((f - f0).unsqueeze(-2) @ to_reduced).squeeze(-2)
    length2 = (theta**2).sum(-1)
    norm = (length2 * ((g**2).sum(-1) + smoothing**2 * length2)).sqrt()
    return (g * theta).sum(-1) / norm


def train_igd(
    network: N,
    x: Tensor,
    y: Tensor,
    f0: Tensor,
    to_reduced: Tensor,
    theta: Tensor,
    *,
    penalty: float,
    cosine: Literal["signed", "absolute"],
    steps: int,
    learning_rate: float,
) -> N:
    """Train B networks from w_0 along their invariant directions.

    Parameters
    ----------
    network : Network
        w_0.
    x, y, f0 : Tensor, (B, n, d), (B, n), (B, n)
    to_reduced, theta
        As in :func:`cosine_to_direction`.
    penalty : float
        lambda.
    cosine : "signed" or "absolute"
        "absolute" is the penalty as printed.
    steps, learning_rate
        Of Adam, full batch.

    Returns
    -------
    Network
    """

    def loss(f: Tensor, rows: slice) -> Tensor:
        cos = cosine_to_direction(f, f0[rows], to_reduced[rows], theta[rows])
        if cosine == "absolute":
            cos = cos.abs()
        return ((f - y[rows]) ** 2).mean(-1) + penalty * (1 - cos)

    return train(network, x, loss, steps=steps, learning_rate=learning_rate)


def reduced_coordinates(u: Tensor, s: Tensor, k: Tensor) -> Tensor:
    """U S^-1 with columns of zeros beyond each seed's k: (B, n, k_max), (B, k_max), (B,)."""
    column = torch.arange(s.shape[-1], device=s.device)
    return u / s.unsqueeze(-2) * (column < k[:, None]).unsqueeze(-2)
