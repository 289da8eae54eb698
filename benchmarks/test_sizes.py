"""What a million rows and a plan of thousands of jobs take, each in a process of its
own."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchmarks.cases import TINY
from benchmarks.conftest import ROOT, Time, snakemake

N_LEARNERS = 4 if TINY else 1500
DATA = [
    "classification+r2=0.7",
    "classification+r2=0.75",
    "classification+r2=0.8",
    "classification+r2=0.6",
]


@pytest.mark.parametrize("task", ["predictions", "ridge"])
def test_many_rows(timed: Time, task: str) -> None:
    """Seconds and memory as the process itself measures them."""
    command = [sys.executable, "-m", "benchmarks.sizes_worker", task]
    inside: dict[str, list[float]] = {"seconds": [], "memory_mb": []}

    def work() -> None:
        run = subprocess.run(
            command, check=True, cwd=ROOT, capture_output=True, text=True
        )
        measured = json.loads(run.stdout)
        for name, number in measured.items():
            inside[name].append(number)

    timed(work, rounds=1, warm=0, task=f"many rows: {task}", **inside)


def test_plan(timed: Time, tmp_path: Path) -> None:
    """CPU seconds of ``snakemake -n`` for a table of 6 000 cells, each a job."""
    learners = [f"erm+steps={n}" for n in range(1, N_LEARNERS + 1)]
    table = {"title": "Many jobs", "data": DATA, "learners": learners}
    file = tmp_path / "many.yaml"
    file.write_text(yaml.safe_dump({"tables": {"many": table}}))
    command = snakemake("many", "-n", "--configfile", str(file))
    seconds: list[float] = []

    def work() -> None:
        before = _children()
        subprocess.run(command, check=True, cwd=tmp_path)
        seconds.append(_children() - before)

    timed(work, rounds=1, warm=0, task="plan of 6000 jobs", seconds=seconds)


def _children() -> float:
    """CPU seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
