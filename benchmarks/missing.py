"""What the benchmarks need that this machine does not have."""

import functools
import os
from pathlib import Path

from benchmarks.cases import CMNIST, TINY
from kerhrm_paper.data.mnist import Digits
from kerhrm_paper.data.sources import RawDataUnavailable, locate

PEERS = Path(__file__).parent / ".venv"
#: variable by which a process tells those that it starts what is missing
VARIABLE = "BENCH_MISSING"
MNIST, NEURAL_TANGENTS = "MNIST", "neural-tangents"
#: by what is missing: how to get it, and what is left out without it
CURES = {
    MNIST: (
        "set KERHRM_RAW_DIR to a folder of raw files",
        f"timings at the size of {CMNIST}",
    ),
    NEURAL_TANGENTS: ("benchmarks/.venv needs a network", "its Gram matrix"),
}


@functools.cache
def missing() -> list[str]:
    """Names of :data:`CURES` that are missing; looked for once, by the first process.

    Raises KerhrmError if raw data are damaged, or their folder does not exist.
    """
    given = os.environ.get(VARIABLE)
    if given is not None:
        names = given.split(",")
        return [name for name in names if name]
    names = []
    try:
        if not TINY:
            locate(Digits.name, Digits.files)
    except RawDataUnavailable:
        names.append(MNIST)
    if not (PEERS / "installed").exists():
        names.append(NEURAL_TANGENTS)
    return names


def sentence(names: list[str]) -> str:
    """What is missing and what is left out, in one line."""
    cures, left_out = [], []
    for name in names:
        cure, without = CURES[name]
        cures.append(f"{name} ({cure})")
        left_out.append(without)
    return f"missing: {', '.join(cures)}; left out: {', '.join(left_out)}"


def needed(params: dict[str, object], fixtures: list[str]) -> set[str]:
    """What a benchmark needs, by its parameters and fixtures."""
    names = set()
    values = [str(value) for value in params.values()]
    if CMNIST in values or "files" in fixtures:
        names.add(MNIST)
    if NEURAL_TANGENTS in values:
        names.add(NEURAL_TANGENTS)
    return names


def folder(names: list[str]) -> Path:
    """Where results go: those with gaps take no complete ones' place."""
    return Path("build/bench" if names else "results/bench").absolute()
