"""Threads, the rate of the machine's matrix products, and one way to time."""

import timeit
from collections.abc import Callable
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.cases import ROUNDS, THREADS, TINY
from benchmarks.missing import missing, needed

Time = Callable[..., Any]


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Skip what needs something that is missing."""
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        lacking = needed(params, item.fixturenames) & {*missing()}
        if lacking:
            names = ", ".join(sorted(lacking))
            item.add_marker(pytest.mark.skip(f"missing: {names}"))


@pytest.fixture(scope="session")
def gemm() -> float:
    """GFLOP/s of a square float32 product: the best of some."""
    torch.set_num_threads(THREADS)
    n = 64 if TINY else 2048
    a = torch.randn(n, n)
    seconds = timeit.repeat(lambda: a @ a, number=1, repeat=8)
    gflop = 2e-9 * n**3
    return gflop / min(seconds)


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
