"""What all cases share: one set of tables a run, sizes, threads, the machine."""

from collections.abc import Iterator

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from threadpoolctl import threadpool_limits

from benchmarks import machine
from benchmarks.case import Case
from benchmarks.records import COLUMNS, Tables, folder, write_json
from benchmarks.sizes import THREADS, Sizes, chosen


@pytest.fixture(scope="session")
def sizes() -> Sizes:
    return chosen()


@pytest.fixture(scope="session")
def tables(sizes: Sizes) -> Iterator[Tables]:
    """Empty tables; the machine is described, and its products timed, before and after."""
    tables = Tables(folder())
    for name in COLUMNS:
        tables.write(name)
    torch.set_num_threads(THREADS)
    facts = machine.describe() | {"sizes": sizes.name}
    facts["gemm_gflops_before"] = machine.gemm_rates(sizes.gemm)
    write_json(tables.where / "machine.json", facts)
    with threadpool_limits(THREADS):
        torch.set_num_threads(THREADS)
        yield tables
    facts["gemm_gflops_after"] = machine.gemm_rates(sizes.gemm)
    write_json(tables.where / "machine.json", facts)


@pytest.fixture
def case(tables: Tables, sizes: Sizes, benchmark: BenchmarkFixture) -> Case:
    return Case(tables, sizes, benchmark)
