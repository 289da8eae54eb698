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


@pytest.mark.parametrize("name", ["cpu", torch.device("cpu"), torch.device("cpu", 0)])
def test_the_cpu_has_one_name(name: str | torch.device) -> None:
    assert resolve_device(name) == torch.device("cpu")


@pytest.mark.parametrize(
    "name",
    [
        "mps",
        "meta",
        "xla",
        "hpu",
        "",
        "CPU",
        "cuda:x",
        "cuda:-1",
        "cpu:1",
        None,
        5,
        True,
        b"cpu",
        torch.device("meta"),
        torch.zeros(3),
    ],
)
def test_other_devices_are_refused_in_one_line(name: object) -> None:
    """They have no numbers, or lack float64 or an operation that is needed."""
    with pytest.raises(KerhrmError, match="device must be 'auto', 'cpu'") as caught:
        resolve_device(name)  # type: ignore[arg-type]
    assert str(caught.value).endswith("; use device='auto'")
    assert "\n" not in str(caught.value)


def test_a_gpu_whose_number_is_too_large_for_pytorch_is_named() -> None:
    with pytest.raises(KerhrmError, match="device=cuda:300, but PyTorch sees"):
        resolve_device("cuda:300")
