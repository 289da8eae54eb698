"""Adam against PyTorch's own optimiser, bit for bit."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from kerhrm.networks.adam import Adam


def descend(optimiser: Adam | torch.optim.Adam, parameters: list[Tensor]) -> None:
    for step in range(30):
        optimiser.zero_grad()
        loss = sum(((p - i) ** 2).sum() * (1 + step % 3) for i, p in enumerate(parameters[:2]))
        loss.backward()
        optimiser.step()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_numbers_are_those_of_torch(dtype: torch.dtype) -> None:
    """The third parameter has no gradient and stays as it is."""
    start = [torch.randn(4, 3, dtype=dtype), torch.randn(7, dtype=dtype), torch.randn(2)]
    ours, theirs = ([p.clone().requires_grad_(True) for p in start] for _ in range(2))
    descend(Adam(ours, 0.02), ours)
    descend(torch.optim.Adam(theirs, lr=0.02, fused=True), theirs)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert not torch.equal(ours[0], start[0])
    assert torch.equal(ours[2], start[2])


def test_every_row_may_have_a_rate_of_its_own() -> None:
    """Equal rates that are not neighbours among them."""
    start, rates = [torch.randn(5, 3), torch.randn(5)], [0.02, 0.02, 0.1, 0.02, 0.005]
    together = [p.clone().requires_grad_(True) for p in start]
    descend(Adam(together, torch.tensor(rates, dtype=torch.float64)), together)
    for b, rate in enumerate(rates):
        alone = [p[[b]].clone().requires_grad_(True) for p in start]
        descend(Adam(alone, rate), alone)
        assert all(torch.equal(p[0], q[b]) for p, q in zip(alone, together, strict=True))


def test_the_compiler_is_not_imported() -> None:
    """What the class is for."""
    code = (
        "import sys, torch; from kerhrm.networks.adam import Adam\n"
        "w = torch.zeros(2); w.grad = torch.ones(2); Adam([w], 0.1).step()\n"
        "assert w.sum() < 0; print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
