"""Threads, the rate of the machine's matrix products, and one way to time."""

import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.cases import ROUNDS, THREADS, TINY
from benchmarks.missing import missing, needed

Time = Callable[..., Any]
ROOT = Path(__file__).parents[1]


def snakemake(target: str, *options: str) -> list[str]:
    """The command that makes a target of the preset ``smoke`` from any folder."""
    program = Path(sys.executable).parent / "snakemake"
    command = [str(program), "--snakefile", str(ROOT / "Snakefile"), "--cores", "2"]
    command += ["--quiet", "all", *options]
    return [*command, "--config", "preset=smoke", "--", target]


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Skip what needs something that is missing."""
    for item in items:
        params: dict[str, object] = {}
        if hasattr(item, "callspec"):
            params = item.callspec.params
        inputs = needed(params, item.fixturenames)
        lacking = inputs.intersection(missing())
        if lacking:
            names = ", ".join(sorted(lacking))
            skipped = pytest.mark.skip(f"missing: {names}")
            item.add_marker(skipped)


def rate(n: int) -> float:
    """GFLOP/s of the product of two matrices (n, n): the best of some."""
    a = torch.randn(n, n)
    b = torch.randn(n, n)
    seconds = timeit.repeat(lambda: a @ b, number=1, repeat=8)
    fastest = min(seconds)
    gflop = 2e-9 * n**3
    return gflop / fastest


@pytest.fixture(scope="session")
def gemm() -> float:
    """GFLOP/s of square float32 products: the best of some, at their best size."""
    torch.set_num_threads(THREADS)
    sizes = (64,) if TINY else (512, 1024, 2048, 4096)
    rates = [rate(n) for n in sizes]
    return max(rates)


@pytest.fixture
def timed(benchmark: BenchmarkFixture, gemm: float) -> Time:
    """Time a function; what else is said of it goes into the JSON file."""

    def run(
        work: Callable[[], Any], *, rounds: int = ROUNDS, warm: int = 1, **info: Any
    ) -> Any:
        benchmark.extra_info.update(info)
        benchmark.extra_info["gemm"] = gemm
        benchmark.extra_info["threads"] = THREADS
        return benchmark.pedantic(work, rounds=rounds, iterations=1, warmup_rounds=warm)

    return run
