"""One seed of r2 = .70 in one process: data, features, two iterations, test accuracy.

``python -m benchmarks.example`` prints seconds, imports left out, and the accuracy.
"""

import json
import time

import torch

from benchmarks.problems import TABLE1, network, options, posed, table1
from benchmarks.sizes import THREADS, chosen
from kerhrm.algorithm.loop import fit


def accuracy() -> float:
    """Of the NTF predictor after two iterations, on the test environment."""
    sizes = chosen()
    data, how = table1(sizes, 1), options(sizes).model_copy(update={"iterations": 2})
    with torch.inference_mode():
        problem, test = posed(data, network(TABLE1, 1), max(how.k))
        outputs = fit(problem, how).final.predict(test.psi, test.f0)
    return float(((outputs > 0) == (torch.from_numpy(data.test.y) > 0)).double().mean())


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    start = time.perf_counter()
    found = accuracy()
    print(json.dumps({"seconds": time.perf_counter() - start, "accuracy": found}))
