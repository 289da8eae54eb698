"""Seconds and peak memory with a million rows: ``python -m benchmarks.sizes_worker
predictions|ridge``.

``predictions`` are those of a regressor that was fitted on 20 000 rows of 20 columns,
of which the seconds are of predicting alone; ``ridge`` is a fit to 10 columns.
"""

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.cases import THREADS, TINY
from kerhrm import KerHRMRegressor, TangentRidge

N = 2000 if TINY else 1_000_000
N_TRAIN = 200 if TINY else 20_000


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which the effect of one column flips in a fifth."""
    random = np.random.default_rng(0)
    x = random.normal(size=(n, d))
    is_flipped = random.random(n) < 0.2
    slope = np.where(is_flipped, -1, 1)
    y = x[:, 0] + slope * x[:, 1] + 0.5 * random.normal(size=n)
    return x, y


def predictions() -> float:
    """Seconds of a million predictions."""
    x, y = table(N_TRAIN, 20)
    model = KerHRMRegressor(random_state=0).fit(x, y)
    rows, _ = table(N, 20)
    start = time.perf_counter()
    model.predict(rows)
    return time.perf_counter() - start


def ridge() -> float:
    """Seconds of a fit of a million rows."""
    x, y = table(N, 10)
    start = time.perf_counter()
    model = TangentRidge(task="regression", network=(64,), random_state=0)
    model.fit(x, y)
    return time.perf_counter() - start


TASKS: dict[str, Callable[[], float]] = {"predictions": predictions, "ridge": ridge}

if __name__ == "__main__":
    import torch

    _, task = sys.argv
    torch.set_num_threads(THREADS)
    seconds = TASKS[task]()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    memory_mb = usage.ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "memory_mb": memory_mb}))
