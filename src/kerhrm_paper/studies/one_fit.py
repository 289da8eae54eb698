"""One fit in a process of its own, for :mod:`kerhrm_paper.studies.sizes`.

    python -m kerhrm_paper.studies.one_fit '{"task": "classification", ...}'

prints its processor seconds and its largest memory as JSON.
"""

import json
import resource
import sys
import time
from typing import Any

import numpy as np

from kerhrm import KerHRMClassifier, KerHRMRegressor
from kerhrm.randomness import stream
from kerhrm_paper.studies.study import quiet

#: bytes in a unit of the largest memory that the system reports
UNIT = 1 if sys.platform == "darwin" else 1024
#: rows of the environment in which the second column is turned
TURNED = 0.2


def rows(n: int, d: int, task: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d), float32, and targets (n,); the second column turns in a fifth.

    The first column holds everywhere, and the others are noise.
    """
    random = stream(0, "sizes")
    shape = (n, d)
    x = random.standard_normal(shape, dtype=np.float32)
    is_turned = random.random(n) < TURNED
    turned = np.where(is_turned, -1.0, 1.0)
    if task == "classification":
        y = random.choice([-1.0, 1.0], n)
        x[:, 0] += y
        noise = 0.3 * x[:, 1]
        x[:, 1] = turned * y + noise
        return x, y
    normal = random.standard_normal(n)
    noise = 0.5 * normal
    first, second, *_ = x.T
    signal = 2 * turned * second
    mean = first + signal
    return x, mean + noise


def fit(key: dict[str, Any]) -> dict[str, Any]:
    """Fit rows of a size: what predicts, processor seconds and largest memory in GB."""
    task = key["task"]
    n = key["rows"]
    d = key["columns"]
    x, y = rows(n, d, task)
    kinds = {
        "classification": KerHRMClassifier,
        "regression": KerHRMRegressor,
    }
    width = key["width"]
    network = (width,) if width else ()
    kind = kinds[task]
    model = kind(network=network, random_state=0, n_jobs=1)
    start = time.process_time()
    with quiet():
        model.fit(x, y)
    end = time.process_time()
    seconds = end - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    memory = usage.ru_maxrss
    return {
        "predictor": model.predictor_,
        "cpu_seconds": seconds,
        "memory_gb": memory * UNIT / 1e9,
    }


if __name__ == "__main__":
    key = json.loads(sys.argv[1])
    measured = fit(key)
    print(json.dumps(measured))
