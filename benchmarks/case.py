"""One case: prepare, time, compare, write down; whatever goes wrong becomes a row."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks import machine
from benchmarks.records import OK, Row, Tables
from benchmarks.sizes import Sizes

#: what is timed; what it gives back may be compared
Work = Callable[..., Any]
#: gives the work's arguments
Setup = Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]


class NotRun(Exception):
    """Why a case is not run."""


@dataclass
class Case:
    """Runs the case of one test and writes its row."""

    tables: Tables
    sizes: Sizes
    benchmark: BenchmarkFixture

    def __call__(
        self,
        table: str,
        row: Row,
        prepare: Callable[[], Work],
        *,
        before_each: Setup | None = None,
        rounds: int | None = None,
        warm: int = 1,
        gflop: float | None = None,
        check: Callable[[Any], float] | None = None,
    ) -> None:
        """Time what ``prepare`` returns: median and interquartile range over the rounds.

        Parameters
        ----------
        before_each : callable, optional
            Called before every round.  Not timed.
        rounds, warm : int
            Timed rounds at most, as many as the sizes' budget of seconds allows, and untimed
            ones before.
        gflop : float, optional
            What the work counts; its rate stands beside that of matrix products taken at the
            same threads just before and after.
        check : callable, optional
            Difference of the work's result from ours, before its time counts; compared with the
            row's ``tolerance``.
        """
        try:
            work = prepare()
            rate = self._gemm() if gflop is not None else 0.0
            most = rounds or self.sizes.rounds
            fit = self._warm_up(work, before_each, warm)
            how = {"rounds": max(1, min(most, fit)), "iterations": 1}
            result = self.benchmark.pedantic(work, setup=before_each, **how)
            if check is not None:
                row["difference"] = check(result)
                if not row["difference"] <= row["tolerance"]:
                    raise NotRun(f"its result differs from ours by {row['difference']:.2g}")
            if self.benchmark.stats is None:
                raise NotRun("pytest-benchmark measured nothing")
            stats = self.benchmark.stats.stats
        except Exception as error:
            self.not_run(table, row, error)
        row |= times(stats.data)
        if gflop is not None:
            gemm = (rate + self._gemm()) / 2
            rate = gflop / row["median_s"]
            row |= {"gflop": gflop, "gflops": rate, "gemm_gflops": gemm}
            row["percent_of_gemm"] = 100 * rate / gemm
        self.tables.put(table, row | {"status": OK})

    def not_run(self, table: str, row: Row, error: Exception) -> NoReturn:
        """Write down why, and go on with the next case."""
        reason = not_run(error)
        self.tables.put(table, row | {"status": reason})
        pytest.skip(reason)

    def _warm_up(self, work: Work, before_each: Setup | None, warm: int) -> int:
        """Run untimed rounds; how many timed ones the case's budget then allows."""
        start = time.perf_counter()
        for _ in range(warm):
            given, named = before_each() if before_each else ((), {})
            work(*given, **named)
        each = (time.perf_counter() - start) / max(warm, 1)
        return int(self.sizes.budget / max(each, 1e-6)) if warm else self.sizes.rounds

    def _gemm(self) -> float:
        return machine.gemm_rate(self.sizes.gemm)


def times(seconds: list[float]) -> Row:
    """Rounds, median and interquartile range."""
    low, high = np.percentile(seconds, [25, 75])
    median = statistics.median(seconds)
    return {"rounds": len(seconds), "median_s": median, "spread_s": float(high - low)}


def not_run(error: Exception) -> str:
    """A status in one line."""
    told = " ".join(str(error).split())[:160]
    named = isinstance(error, NotRun)
    return f"not run: {told}" if named else f"not run: {type(error).__name__}: {told}"


def relative_difference(values: Any, ours: Any) -> float:
    """Largest absolute difference, over our largest absolute value."""
    left, right = (torch.as_tensor(v).double() for v in (values, ours))
    return float((left - right).abs().max() / right.abs().max())
