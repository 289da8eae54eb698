"""Settings of all unit tests, and the reference that feature extractors are held
against."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import settings
from torch import Tensor, nn

torch.set_num_threads(1)  # tiny matrices, and pytest-xdist runs one process a core

settings.register_profile("unit", deadline=None, derandomize=True)
settings.load_profile("unit")


@pytest.fixture(autouse=True)
def _seed_torch() -> None:
    """No test depends on those that ran before it."""
    torch.manual_seed(0)


@pytest.fixture
def autograd_rows() -> Callable[[nn.Module, Tensor], Tensor]:
    """Phi (n, p) by the plain loop: one backward pass a point, columns as
    ``parameters()``."""

    def rows(module: nn.Module, x: Tensor) -> Tensor:
        gradients = [
            torch.autograd.grad(module(x[i : i + 1]).sum(), list(module.parameters()))
            for i in range(len(x))
        ]
        return torch.stack([torch.cat([g.flatten() for g in row]) for row in gradients])

    return rows
