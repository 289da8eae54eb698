"""Products of matrices on a CPU, by oneDNN's convolutions where those are faster."""

from functools import cache
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad
from torch.nn.grad import conv2d_weight

ROWS = 16  #: become as many images: with fewer PyTorch keeps oneDNN out


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X W^T + b: (n, k), (m, k), (m,) to (n, m)."""
    if not _by_convolution(x):
        if bias is None:
            return x @ weight.T
        return torch.addmm(bias, x, weight.T)
    kernel = weight[:, :, None, None]
    images = conv2d(_images(x), kernel, bias)
    rows = images.permute(0, 2, 3, 1).reshape(-1, len(weight))
    return rows[: len(x)]


def cross(g: Tensor, x: Tensor) -> Tensor:
    """G^T X: (n, m), (n, k) to (m, k); no gradient."""
    if not _by_convolution(x):
        # faster than g.T @ x in MKL, which goes by the side with few columns
        return (x.T @ g).T
    shape = (g.shape[1], x.shape[1], 1, 1)
    kernel = conv2d_weight(_images(x), shape, _images(g))
    return kernel[:, :, 0, 0]


def _by_convolution(x: Tensor) -> bool:
    on_cpu = x.device.type == "cpu"
    return on_cpu and x.dtype == torch.float32 and convolutions_pay()


@cache
def convolutions_pay() -> bool:
    """True if a convolution with 1 x 1 kernels is faster than the same product of
    matrices.

    PyTorch hands products to MKL, which runs without AVX-512 on processors that are not
    Intel's, and is slow there where one side has ten columns: up to twenty times slower
    than oneDNN.
    """
    if not torch.backends.mkldnn.is_available():
        return False
    # Linux; elsewhere the processor is ARM, or unknown
    described = Path("/proc/cpuinfo")
    if not described.exists():
        return True
    return "GenuineIntel" not in described.read_text()


def _images(x: Tensor) -> Tensor:
    """Rows (n, k) as the pixels of images (ROWS, k, n / ROWS, 1), zeros at the end."""
    missing = -len(x) % ROWS
    if missing:
        x = pad(x, (0, 0, 0, missing))
    images = x.contiguous().view(ROWS, -1, 1, x.shape[1])
    return images.permute(0, 3, 1, 2)
