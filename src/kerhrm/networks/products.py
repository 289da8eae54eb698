"""Products of single-precision matrices on a CPU, as convolutions where those are faster.

PyTorch hands matrix products to MKL, which runs without AVX-512 on processors that are not
Intel's, and is slow there where one side has ten columns.  A convolution with 1 x 1 kernels is the
same product and goes to oneDNN: twice the rate on the machine of the reference run, twenty times
where x has ten columns.  Elsewhere (GPU, double precision, Intel) these are plain products.
"""

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
        return x @ weight.T if bias is None else torch.addmm(bias, x, weight.T)
    images = conv2d(_images(x), weight[:, :, None, None], bias)
    return images.permute(0, 2, 3, 1).reshape(-1, len(weight))[: len(x)]


def cross(g: Tensor, x: Tensor) -> Tensor:
    """G^T X: (n, m), (n, k) to (m, k); no gradient."""
    if not _by_convolution(x):
        return (x.T @ g).T  # faster than g.T @ x in MKL, which goes by the side with few columns
    shape = (g.shape[1], x.shape[1], 1, 1)
    return conv2d_weight(_images(x), shape, _images(g))[:, :, 0, 0]


def _by_convolution(x: Tensor) -> bool:
    return x.device.type == "cpu" and x.dtype == torch.float32 and convolutions_pay()


@cache
def convolutions_pay() -> bool:
    """Whether oneDNN is there, and MKL, if it is, on a processor that it does not favour."""
    described = Path("/proc/cpuinfo")  # Linux; elsewhere the processor is ARM, or unknown
    intel = described.exists() and "GenuineIntel" in described.read_text()
    return torch.backends.mkldnn.is_available() and not intel


def _images(x: Tensor) -> Tensor:
    """Rows (n, k) as the pixels of images (ROWS, k, n / ROWS, 1), zeros at the end."""
    if missing := -len(x) % ROWS:
        x = pad(x, (0, 0, 0, missing))
    return x.contiguous().view(ROWS, -1, 1, x.shape[1]).permute(0, 3, 1, 2)
