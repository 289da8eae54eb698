"""The machine: its description, and what its matrix products reach."""

import datetime
import os
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import psutil
import torch

from benchmarks import flops
from benchmarks.sizes import THREADS
from kerhrm.reporting.provenance import provenance

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def gemm_rate(order: int, dtype: str = "float32", rounds: int = 3) -> float:
    """GFLOP/s of a square matrix product by PyTorch at the threads set: median, once warmed up."""
    left, right = (torch.randn(order, order, dtype=DTYPES[dtype]) for _ in range(2))
    out = left @ right
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        torch.mm(left, right, out=out)
        seconds.append(time.perf_counter() - start)
    return flops.gemm(order, order, order) / statistics.median(seconds)


def gemm_rates(order: int) -> dict[str, float]:
    """GFLOP/s by precision and number of threads."""
    before, rates = torch.get_num_threads(), {}
    for threads in sorted({1, THREADS}):
        torch.set_num_threads(threads)
        for dtype in DTYPES:
            rates[f"{dtype}, {threads} threads"] = round(gemm_rate(order, dtype, 5), 1)
    torch.set_num_threads(before)
    return rates


def describe() -> dict[str, Any]:
    """What the numbers depend on: processor, memory, versions, and how busy it is."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": THREADS,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "load_at_start": round(os.getloadavg()[0], 2),
        "blas": "MKL" if torch.backends.mkl.is_available() else "other",
        "vector_units": torch.backends.cpu.get_cpu_capability(),
        **{k: v for k, v in provenance().items() if k != "cpu_count"},
    }


def available_gb() -> float:
    """Memory that a process could have now."""
    return float(psutil.virtual_memory().available) / 1e9


def _processor() -> str:
    """Its name, where Linux tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
