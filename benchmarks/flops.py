"""Floating-point operations by formula, in GFLOP; one multiply-add counts as two.

They are what the mathematics asks for, not what a code happens to execute: of a symmetric product
all n^2 entries count, so a code that computes half of them may pass the rate of a full matrix
product.  Elementwise work (ReLU, losses, Adam) does not count.  ``sizes`` are a network's
d_0, d_1, ..., 1, n the number of points.
"""

from collections.abc import Sequence
from itertools import pairwise

GIGA = 1e9


def gemm(n: int, m: int, k: int) -> float:
    """Product of n x k by k x m."""
    return 2 * n * m * k / GIGA


def forward(n: int, sizes: Sequence[int]) -> float:
    """Outputs of n points."""
    return sum(gemm(n, fan_out, fan_in) for fan_in, fan_out in pairwise(sizes))


def factors(n: int, sizes: Sequence[int]) -> float:
    """Activations and back-propagated deltas of n points: forward, and backward to layer 1."""
    return forward(n, sizes) + forward(n, sizes[1:])


def gram(n: int, sizes: Sequence[int], m: int | None = None) -> float:
    """Kernel of n with m (default n) points from the factors, two products a layer (Jacot 2018)."""
    return sum(gemm(n, n if m is None else m, a + d) for a, d in pairwise(sizes))


def explicit_gram(n: int, sizes: Sequence[int]) -> float:
    """Phi Phi^T of the explicit n x p matrix."""
    return gemm(n, n, n_parameters(sizes))


def training_step(n: int, sizes: Sequence[int]) -> float:
    """One full-batch step: outputs, gradients of weights, and of inputs from layer 1 on."""
    return 2 * forward(n, sizes) + forward(n, sizes[1:])


def second_order_step(n: int, sizes: Sequence[int]) -> float:
    """A step whose loss contains one weight gradient: each product once more, differentiated."""
    return 2 * training_step(n, sizes)


def n_parameters(sizes: Sequence[int]) -> int:
    """p, weights and biases."""
    return sum(fan_out * (fan_in + 1) for fan_in, fan_out in pairwise(sizes))
