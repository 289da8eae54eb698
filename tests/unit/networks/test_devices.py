"""Device names, with and without a GPU (PyTorch is asked, so it is what is
replaced)."""

import pytest
import torch

from kerhrm.errors import KerhrmError
from kerhrm.networks.base import resolve_device


@pytest.fixture
def gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: request.param > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: request.param)


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("gpus", "name", "expected"),
    [
        (0, "auto", "cpu"),
        (1, "auto", "cuda"),
        (2, "cpu", "cpu"),
        (1, "cuda", "cuda"),
        (2, "cuda:1", "cuda:1"),
        (0, "cuda", None),
        (1, "cuda:1", None),
    ],
    indirect=["gpus"],
)
def test_a_name_is_a_device_or_is_refused(name: str, expected: str | None) -> None:
    if expected is None:
        hint = (
            rf"device={name}, but PyTorch sees \d GPUs; use device=auto or device=cpu"
        )
        with pytest.raises(KerhrmError, match=hint):
            resolve_device(name)
    else:
        assert resolve_device(name) == torch.device(expected)
