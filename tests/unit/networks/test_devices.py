"""Device names, with and without a GPU (PyTorch is asked, so it is what is
replaced)."""

import logging
from collections.abc import Sequence

import pytest
import torch
from refusals import refusal

from kerhrm.errors import DeviceError
from kerhrm.networks.base import resolve_device


def pretend(
    monkeypatch: pytest.MonkeyPatch,
    n_gpus: int,
    capability: tuple[int, int] = (9, 0),
    builds: Sequence[str] = ("sm_80", "sm_90"),
) -> None:
    """Let PyTorch, built for some versions of GPUs, see some of one version."""
    answers = {
        "is_available": lambda: n_gpus > 0,
        "device_count": lambda: n_gpus,
        "get_device_capability": lambda number: capability,
        "get_device_name": lambda number: "Example GPU",
        "get_arch_list": lambda: list(builds),
    }
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, answer)


@pytest.fixture
def gpus(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, request.param)


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
        with refusal(hint):
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
    with refusal("device must be 'auto', 'cpu'") as caught:
        resolve_device(name)  # type: ignore[arg-type]
    assert str(caught.value).endswith("; use device='auto'")
    assert "\n" not in str(caught.value)


def test_a_gpu_whose_number_is_too_large_for_pytorch_is_named() -> None:
    with refusal("device=cuda:300, but PyTorch sees"):
        resolve_device("cuda:300")


@pytest.mark.parametrize(
    ("capability", "builds", "runs"),
    [
        ((8, 6), ("sm_75", "sm_80"), True),  # later minor version
        ((9, 0), ("sm_80", "compute_80"), True),  # compiled by the driver
        ((9, 0), ("sm_90a",), True),
        ((12, 0), ("sm_90", "sm_120"), True),
        ((9, 4), ("gfx90a", "gfx942"), True),  # AMD's, which PyTorch compares
        ((6, 1), ("sm_75", "sm_80"), False),
        ((8, 0), ("sm_86", "compute_86"), False),  # earlier minor version
        ((12, 0), ("sm_90",), False),  # later major version
    ],
)
def test_a_gpu_that_the_build_has_no_code_for_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capability: tuple[int, int],
    builds: Sequence[str],
    runs: bool,
) -> None:
    pretend(monkeypatch, 1, capability, builds)
    if runs:
        assert resolve_device("cuda") == torch.device("cuda")
        assert resolve_device("auto") == torch.device("cuda")
        return
    names = ", ".join(builds)
    expected = (
        rf"Example GPU is sm_\d+, and this build of PyTorch has code for {names};"
    )
    with pytest.raises(DeviceError, match=expected) as caught:
        resolve_device("cuda:0")
    assert str(caught.value).endswith("; install a build for it, or use device=cpu")
    with caplog.at_level(logging.WARNING):
        assert resolve_device("auto") == torch.device("cpu")
    assert "device=auto takes the CPU" in caplog.text


def test_a_gpu_that_does_not_start_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, 1)

    def busy(number: int) -> str:
        raise RuntimeError("CUDA error: all CUDA-capable devices are busy\nmore lines")

    monkeypatch.setattr(torch.cuda, "get_device_capability", busy)
    with pytest.raises(DeviceError) as caught:
        resolve_device("cuda")
    line = "device=cuda:0 does not start: CUDA error: all CUDA-capable devices are busy"
    assert str(caught.value) == f"{line}; free the GPU, or use device=cpu"
