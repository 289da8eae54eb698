"""Fits of mixtures, watched."""

from typing import Any

import pytest
from torch import Tensor

from kerhrm.algorithm import starts as module
from kerhrm.algorithm.mixture import fit_mixture


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor]]:
    """Features and starts of every fit."""
    calls: list[tuple[Tensor, Tensor]] = []

    def watch(psi: Tensor, y: Tensor, start: Tensor, **options: Any) -> Any:
        calls.append((psi, start))
        return fit_mixture(psi, y, start, **options)

    monkeypatch.setattr(module, "fit_mixture", watch)
    return calls
