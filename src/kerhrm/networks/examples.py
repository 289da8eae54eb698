"""A module to copy: what ``network: {module: ...}`` may name."""

import math

from torch import nn

from kerhrm.errors import KerhrmError


def small_cnn(n_inputs: int) -> nn.Module:
    """Two small convolutions on images with two colour channels, d = 2 side^2."""
    side = math.isqrt(n_inputs // 2)
    if 2 * side**2 != n_inputs or side < 4:
        raise KerhrmError(
            f"{n_inputs} inputs are no square image with two channels", "use colored_mnist"
        )
    end = (side + 3) // 4  # two strides of 2, each rounded up
    return nn.Sequential(
        nn.Unflatten(1, (2, side, side)),
        nn.Conv2d(2, 8, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(8, 16, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * end**2, 1),
    )
