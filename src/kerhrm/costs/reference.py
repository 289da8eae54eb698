"""Costs that come with the repository, and the speed of the machine that they are from."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

from kerhrm.costs.benchmarks import Cost, Key, published
from kerhrm.costs.predict import Stored, times

FILE, VERSIONS = "benchmarks.tsv", "versions.json"
RATE = "gemm_gflops"  #: in the latter


def stored(reference: Path, own: Mapping[Key, Cost] | None = None) -> Stored:
    """Published costs beside ``own`` ones; this machine's speed is measured when it is needed.

    Tables that are published apart have costs of their own in their folders, maybe of other
    machines; they are told in seconds of the reference's.
    """
    rate = _rate(reference)

    @functools.cache
    def slower() -> float:
        from kerhrm.costs.rate import gemm_rate  # NumPy, which a look at the jobs can do without

        return rate / gemm_rate() if rate else 1.0

    costs: dict[Key, Cost] = {}
    for path in sorted(reference.glob(f"*/{FILE}")):
        there = _rate(path.parent)
        faster = there / rate if rate and there else 1.0
        costs |= {key: times(cost, faster) for key, cost in published(path).items()}
    return Stored(own or {}, costs | published(reference / FILE), slower)


def _rate(folder: Path) -> float | None:
    """Billions of operations a second of the machine that made a folder's files."""
    path = folder / VERSIONS
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return float(known[RATE]) if RATE in known else None
