"""Memory that a process may have, against psutil and written limits of groups."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from refusals import refusal

from kerhrm import (
    ERM,
    KerHRMRegressor,
    NetworkOptions,
    NTFMap,
    NystroemMap,
    build,
    memory,
)
from kerhrm.features.options import NystroemOptions
from kerhrm.memory import (
    TooLittleMemory,
    memory_limit,
    require,
    require_on_gpu,
)

MEGABYTE = 10**6


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the control groups; the process is in none."""
    monkeypatch.setattr(memory, "HIERARCHY", tmp_path)
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "cgroup")
    return tmp_path


@pytest.fixture
def swapping(groups: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same of a machine with 64 MB of memory and 8 MB of swap space."""
    (groups / "meminfo").write_text("MemTotal: 62500 kB\nSwapTotal: 7813 kB\n")
    monkeypatch.setattr(memory, "MEMINFO", groups / "meminfo")
    return groups


SWAP = 7813 * 1024


def limit(folder: Path, file: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(f"{text}\n")


@pytest.mark.skipif(not psutil.LINUX, reason="elsewhere without swap space")
def test_of_a_machine_it_is_memory_and_swap_space(groups: Path) -> None:
    expected = psutil.virtual_memory().total + psutil.swap_memory().total
    assert memory_limit() == expected


def test_a_system_without_numbers_refuses_nothing(
    groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MEMINFO", groups / "none")
    monkeypatch.delattr("os.sysconf")
    assert memory_limit() is None
    require(1e18, "a step", "a hint")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MemTotal:  3 kB\nMemFree:  1 kB\nSwapTotal:  2 kB\n", 5 * 1024),
        ("MemTotal:  3 kB\nSwapTotal:\n", 3 * 1024),
        ("MemTotal:  unknown\n", None),
        ("", None),
    ],
)
def test_a_system_may_leave_numbers_out(
    groups: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: int | None
) -> None:
    (groups / "meminfo").write_text(text)
    monkeypatch.setattr(memory, "MEMINFO", groups / "meminfo")
    assert memory_limit() == expected


@pytest.mark.parametrize(
    ("line", "folder", "file"),
    [
        ("0::/jobs/7/step", "jobs/7", "memory.max"),
        ("0::/jobs/7/step", "jobs/7/step", "memory.max"),
        ("0::/", "", "memory.max"),
        ("4:memory:/jobs/7", "memory/jobs/7", "memory.limit_in_bytes"),
        ("4:cpu,memory:/jobs/7", "memory", "memory.limit_in_bytes"),
    ],
)
def test_a_group_and_those_above_it_limit(
    groups: Path, line: str, folder: str, file: str
) -> None:
    (groups / "cgroup").write_text(f"9:name=systemd:/\n{line}\n")
    limit(groups / folder, file, str(MEGABYTE))
    assert memory_limit() == MEGABYTE


def test_the_least_limit_counts_and_other_groups_do_not(groups: Path) -> None:
    (groups / "cgroup").write_text("0::/jobs/7\n2:cpu:/small\n")
    limit(groups, "memory.max", str(3 * MEGABYTE))
    limit(groups / "jobs", "memory.max", str(2 * MEGABYTE))
    limit(groups / "jobs/7", "memory.max", "max")
    limit(groups / "memory/small", "memory.limit_in_bytes", "1")
    assert memory_limit() == 2 * MEGABYTE


@pytest.mark.parametrize(
    ("swap_limit", "expected"),
    [
        (None, MEGABYTE + SWAP),
        ("max", MEGABYTE + SWAP),
        ("0", MEGABYTE),
        ("3000000", 4 * MEGABYTE),
        (f"{10**9}", MEGABYTE + SWAP),
    ],
)
def test_a_group_may_use_the_swap_space_next_to_its_memory(
    swapping: Path, swap_limit: str | None, expected: int
) -> None:
    """As ``docker run -m`` has it by default."""
    (swapping / "cgroup").write_text("0::/job\n")
    limit(swapping / "job", "memory.max", str(MEGABYTE))
    if swap_limit is not None:
        limit(swapping / "job", "memory.swap.max", swap_limit)
    assert memory_limit() == expected


@pytest.mark.parametrize(
    ("both", "expected"), [(None, MEGABYTE + SWAP), ("3000000", 3 * MEGABYTE)]
)
def test_in_version_1_a_limit_is_of_both_together(
    swapping: Path, both: str | None, expected: int
) -> None:
    (swapping / "cgroup").write_text("4:memory:/job\n")
    folder = swapping / "memory/job"
    limit(folder, "memory.limit_in_bytes", str(MEGABYTE))
    if both is not None:
        limit(folder, "memory.memsw.limit_in_bytes", both)
    assert memory_limit() == expected


def test_a_group_may_have_a_name_that_is_no_text(groups: Path) -> None:
    folder = groups.joinpath("job\udcff")
    limit(folder, "memory.max", str(MEGABYTE))
    limit(folder, "memory.swap.max", "0")
    (groups / "cgroup").write_bytes(b"0::/job\xff\n")
    assert memory_limit() == MEGABYTE


@pytest.mark.skipif(not psutil.LINUX, reason="elsewhere they are not kept")
@pytest.mark.parametrize("kind", ["AS", "DATA"])
def test_a_limit_of_the_process_counts(kind: str) -> None:
    """As of ``ulimit -v``."""
    words = (
        "import resource; from kerhrm.memory import memory_limit; "
        f"resource.setrlimit(resource.RLIMIT_{kind}, (10**9, 10**9)); "
        "print(memory_limit())"
    )
    command = [sys.executable, "-c", words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) == 10**9


@pytest.fixture
def little(groups: Path) -> None:
    """One megabyte."""
    (groups / "cgroup").write_text("0::/\n")
    limit(groups, "memory.max", str(MEGABYTE))


@pytest.mark.usefixtures("little")
def test_a_kernel_that_does_not_fit_is_refused_before_it_is_made() -> None:
    x = torch.randn(400, 3)
    network = build(NetworkOptions(widths=[8]), 0, 3)
    problem = "kernel of 400 points needs at least 0.0 GB of memory, and there are 0.0"
    with pytest.raises(TooLittleMemory, match=problem):
        NTFMap.fit(network, x, 4)
    many = NystroemOptions(n_landmarks=400)
    with pytest.raises(TooLittleMemory, match="lower n_landmarks"):
        NystroemMap.fit(network, x, 4, many)
    few = NystroemOptions(n_landmarks=100)
    assert len(NystroemMap.fit(network, x, 4, few).z) == 100


@pytest.mark.usefixtures("little")
def test_an_estimator_names_its_own_options() -> None:
    x = np.random.default_rng(0).normal(size=(600, 3))
    model = KerHRMRegressor(network=(8,), pretest=False)
    with refusal("needs at least") as caught:
        model.fit(x, x[:, 0])
    assert "max_exact" in str(caught.value)
    assert not hasattr(model, "predictor_")


@pytest.mark.usefixtures("little")
def test_a_baseline_names_its_options_and_predicts_any_number_of_rows() -> None:
    x = np.random.default_rng(0).normal(size=(600, 3))
    model = ERM(task="regression", network=(1024,), learning_rate=0.02)
    words = "training of a network on 480 points needs at least .* GB of memory"
    with refusal(words) as caught:
        model.fit(x, x[:, 0])
    assert str(caught.value).endswith("give fewer rows, or a smaller network")
    model.set_params(network=(8,)).fit(x, x[:, 0])
    many = np.tile(x, (200, 1))  # 3 MB
    assert len(model.predict(many)) == 120_000


def test_a_gpu_counts_what_is_free_and_what_pytorch_holds_unused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gigabyte = 10**9
    answers = {
        "mem_get_info": (4 * gigabyte, 80 * gigabyte),
        "memory_reserved": 3 * gigabyte,
        "memory_allocated": 1 * gigabyte,
        "get_device_name": "Example GPU",
    }
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, answer=answer: answer)
    device = torch.device("cuda")
    require_on_gpu(6 * gigabyte, "the kernel", "lower n_landmarks", device)
    with pytest.raises(TooLittleMemory) as caught:
        require_on_gpu(6.1 * gigabyte, "the kernel", "lower n_landmarks", device)
    problem = (
        "the kernel needs at least 6.1 GB of memory, and Example GPU has 6.0 GB free"
    )
    assert str(caught.value) == f"{problem}; lower n_landmarks, or device=cpu"
