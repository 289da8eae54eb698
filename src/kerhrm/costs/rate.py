"""How fast a machine computes, so that times of one can be told of another."""

import time

import numpy as np
from threadpoolctl import threadpool_limits

SIDE = 512
SECONDS = 0.2  #: at most about so long


def gemm_rate() -> float:
    """Billions of operations a second of one core, in a product of float32 matrices; the best."""
    a = np.random.default_rng(0).random((SIDE, SIDE), dtype=np.float32)
    best, start = float("inf"), time.perf_counter()
    with threadpool_limits(1):
        while best == float("inf") or time.perf_counter() - start < SECONDS:
            before = time.perf_counter()
            a @ a
            best = min(best, time.perf_counter() - before)
    return 2 * SIDE**3 / best / 1e9
