"""Interface of a network, and the devices and products of its tensors.

Products of matrices on a CPU are oneDNN's convolutions where those are faster.
"""

import dataclasses
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad
from torch.nn.grad import conv2d_weight

from kerhrm.errors import DeviceError, KerhrmError, shown

log = logging.getLogger(__name__)

ROWS = 16  #: become as many images: with fewer PyTorch keeps oneDNN out


@dataclass(frozen=True)
class Network(ABC):
    """A function f_w: R^d -> R and its weights w; immutable.

    Attributes
    ----------
    weights : dict of str to Tensor
        By name.
    """

    weights: dict[str, Tensor]

    #: whether outputs take the same operations whatever the weights and the points are
    fixed_operations: ClassVar[bool] = False

    @abstractmethod
    def forward(self, weights: Mapping[str, Tensor], x: Tensor) -> Tensor:
        """Outputs (n,) at points x (n, d) with other weights;
        differentiable by both."""

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs (n,) at points x (n, d)."""
        return self.forward(self.weights, x)

    def at(self, x: Tensor) -> Callable[[Self], Tensor]:
        """Outputs at fixed points, as a function of the network.

        Equal to a call up to rounding.

        What depends on the points alone is computed once.
        """
        return lambda network: network(x)

    @property
    def n_hidden(self) -> int:
        """Numbers that a training holds of every point; 0 where they are not known."""
        return 0

    @property
    def n_parameters(self) -> int:
        """Number of weights, p."""
        return sum(w.numel() for w in self.weights.values())

    def with_weights(self, weights: Mapping[str, Tensor]) -> Self:
        """The same architecture with these weights."""
        return dataclasses.replace(self, weights=dict(weights))

    def each(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Change every tensor of weights alike."""
        changed = {name: change(weight) for name, weight in self.weights.items()}
        return self.with_weights(changed)

    def trainable(self, device: torch.device | str | None = None) -> Self:
        """Copy whose weights are leaves that require a gradient."""

        def leaf(weight: Tensor) -> Tensor:
            copy = weight.detach()
            copy = copy.to(device, copy=True)
            return copy.requires_grad_(True)

        return self.each(leaf)

    def detached(self) -> Self:
        """The same weights without a gradient."""
        return self.each(Tensor.detach)

    def to(self, where: torch.device | str | torch.dtype) -> Self:
        """The same network on another device, or in another precision."""
        return self.each(lambda w: w.to(where))


def resolve_device(name: str | torch.device) -> torch.device:
    """``auto`` takes a GPU where there is one.

    ``cpu``, ``cuda`` and ``cuda:1`` are literal, as a name or as a ``torch.device``.
    A GPU that this build of PyTorch does not support is none for ``auto``, which logs
    it.

    Raises
    ------
    KerhrmError
        If it is not one of these: other devices lack operations that are needed, or
        hold no numbers.
    DeviceError
        If this machine lacks that GPU, it does not start, or this build of PyTorch has
        no code for it; it is a KerhrmError and a RuntimeError.
    """
    text = str(name) if isinstance(name, str | torch.device) else ""
    if text == "auto":
        return _device_there_is()
    if text in ("cpu", "cpu:0"):
        return torch.device("cpu")
    match = re.fullmatch(r"cuda(?::(0|[1-9][0-9]*))?", text)
    if match is None:
        got = shown(name)
        problem = f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {got}"
        raise KerhrmError(problem, "use device='auto'")
    number = int(match[1] or 0)
    n_gpus = torch.cuda.device_count()
    if number >= n_gpus:
        problem = f"device={text}, but PyTorch sees {n_gpus} GPUs"
        hint = "use device=auto or device=cpu, or install a CUDA build of PyTorch"
        raise DeviceError(problem, hint)
    _check_gpu(number)
    return torch.device(text)


def _device_there_is() -> torch.device:
    """The first GPU, or the CPU where there is none that works."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    try:
        _check_gpu(0)
    except DeviceError as error:
        log.warning("%s; device=auto takes the CPU", error.problem)
        return torch.device("cpu")
    return torch.device("cuda")


def _check_gpu(number: int) -> None:
    """Refuse a GPU that does not start, or that this build of PyTorch has no code for.

    Machine code ``sm_80`` runs on 8.0 and later minor versions; ``compute_80``, which
    the driver compiles, on every later version (CUDA programming guide, section 5.2).
    """
    try:
        major, minor = torch.cuda.get_device_capability(number)
        name = torch.cuda.get_device_name(number)
    except RuntimeError as error:
        first_line, *_ = str(error).splitlines() or [type(error).__name__]
        problem = f"device=cuda:{number} does not start: {first_line}"
        raise DeviceError(problem, "free the GPU, or use device=cpu") from error
    builds = torch.cuda.get_arch_list()
    for build in builds:
        match = re.fullmatch(r"(sm|compute)_(\d+)(\d)[af]?", build)
        if match is None:  # AMD's, whose names PyTorch compares by itself
            return
        kind, built_major, built_minor = match.groups()
        built = (int(built_major), int(built_minor))
        later = built <= (major, minor)
        if later and (kind == "compute" or built[0] == major):
            return
    problem = f"device=cuda:{number}: {name} is sm_{major}{minor}"
    problem += f", and this build of PyTorch has code for {', '.join(builds)}"
    raise DeviceError(problem, "install a build for it, or use device=cpu")


def affine(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X W^T + b: (n, k), (m, k), (m,) to (n, m)."""
    if not _by_convolution(x):
        if bias is None:
            return x @ weight.T
        return torch.addmm(bias, x, weight.T)
    n = len(x)
    m = len(weight)
    kernel = weight[:, :, None, None]
    images = conv2d(_images(x), kernel, bias)
    by_row = images.permute(0, 2, 3, 1)
    rows = by_row.reshape(-1, m)
    return rows[:n]


def cross(g: Tensor, x: Tensor) -> Tensor:
    """G^T X: (n, m), (n, k) to (m, k); no gradient."""
    if not _by_convolution(x):
        # faster than g.T @ x in MKL, which goes by the side with few columns
        transposed = x.T @ g
        return transposed.T
    _, m = g.shape
    _, k = x.shape
    shape = (m, k, 1, 1)
    images = _images(x)
    images_of_g = _images(g)
    kernel = conv2d_weight(images, shape, images_of_g)
    return kernel[:, :, 0, 0]


def _by_convolution(x: Tensor) -> bool:
    on_cpu = x.device.type == "cpu"
    is_single = x.dtype == torch.float32
    return on_cpu and is_single and convolutions_pay()


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
    n, k = x.shape
    missing = -n % ROWS
    if missing:
        x = pad(x, (0, 0, 0, missing))
    rows = x.contiguous()
    images = rows.view(ROWS, -1, 1, k)
    return images.permute(0, 3, 1, 2)
