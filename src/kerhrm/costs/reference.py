"""Costs that come with the repository, and the speed of the machine that they are from."""

import functools
import json
from pathlib import Path

from kerhrm.costs.benchmarks import Cost, Key, published
from kerhrm.costs.predict import Stored

FILE, VERSIONS = "benchmarks.tsv", "versions.json"
RATE = "gemm_gflops"  #: in the latter


def stored(reference: Path, own: dict[Key, Cost] | None = None) -> Stored:
    """Published costs beside ``own`` ones; this machine's speed is measured when it is needed."""

    @functools.cache
    def slower() -> float:
        from kerhrm.costs.rate import gemm_rate  # NumPy, which a look at the jobs can do without

        path = reference / VERSIONS
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return float(known[RATE]) / gemm_rate() if RATE in known else 1.0

    return Stored(own or {}, published(reference / FILE), slower)
