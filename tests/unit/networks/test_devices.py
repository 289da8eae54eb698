"""Device names, with and without a GPU (PyTorch is asked, so it is what is replaced)."""

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
        (0, "cpu", "cpu"),
        (2, "cpu", "cpu"),
        (1, "cuda", "cuda"),
        (1, "cuda:0", "cuda:0"),
        (2, "cuda:1", "cuda:1"),
    ],
    indirect=["gpus"],
)
def test_a_name_is_a_device(name: str, expected: str) -> None:
    assert resolve_device(name) == torch.device(expected)


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize(
    ("gpus", "name", "message"),
    [
        (0, "cuda", "device=cuda, but PyTorch sees 0 GPUs; use device=auto or device=cpu"),
        (0, "cuda:0", "device=cuda:0, but PyTorch sees 0 GPUs"),
        (1, "cuda:1", "device=cuda:1, but PyTorch sees 1 GPUs"),
    ],
    indirect=["gpus"],
)
def test_a_missing_gpu_is_told(name: str, message: str) -> None:
    with pytest.raises(KerhrmError, match=message):
        resolve_device(name)
