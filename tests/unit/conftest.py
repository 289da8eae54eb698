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
        weights = list(module.parameters())
        flat_rows = []
        for i in range(len(x)):
            output = module(x[i : i + 1]).sum()
            gradients = torch.autograd.grad(output, weights)
            flat = [gradient.flatten() for gradient in gradients]
            flat_rows.append(torch.cat(flat))
        return torch.stack(flat_rows)

    return rows
