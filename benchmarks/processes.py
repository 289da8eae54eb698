"""Cases in a process of their own, for their memory, their start, or their packages."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.case import NotRun
from benchmarks.sizes import THREADS

ROOT = Path(__file__).parents[1]
PEERS = Path(__file__).parent / ".venv/bin/python"


def run(command: Sequence[str | Path], patience: float, where: Path = ROOT) -> str:
    """Standard output of a command that is given the threads of all cases.

    Raises
    ------
    NotRun
        If it fails or takes longer than ``patience`` seconds.
    """
    env = os.environ | {"OMP_NUM_THREADS": str(THREADS), "PYTHONPATH": str(ROOT)}
    try:
        done = subprocess.run(
            list(map(str, command)), cwd=where, env=env, timeout=patience, check=False,
            capture_output=True, text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise NotRun(f"stopped after {patience:g} s") from error
    if done.returncode < 0:
        raise NotRun(f"ended by signal {-done.returncode}, most likely for want of memory")
    if done.returncode:
        raise NotRun(f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return done.stdout


def facts(command: Sequence[str | Path], patience: float) -> dict[str, Any]:
    """What a worker prints last, as JSON."""
    found: dict[str, Any] = json.loads(run(command, patience).strip().splitlines()[-1])
    return found


def worker(module: str, *arguments: object, python: str | Path = sys.executable) -> list[str]:
    """Command of a module of this package."""
    return [str(python), "-m", f"benchmarks.{module}", *map(str, arguments)]


def wall(command: Sequence[str | Path], patience: float, where: Path = ROOT) -> float:
    """Seconds that a command takes."""
    start = time.perf_counter()
    run(command, patience, where)
    return time.perf_counter() - start
