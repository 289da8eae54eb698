"""What the estimators cost on large tables: ``python -m benchmarks.estimators [case ...]``.

Every case runs in a process of its own, and prints a line: seconds to fit and to predict 100 000
rows, by the clock and of a core, which a busy machine does not lengthen, peak memory, and what
was found.
"""

import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.memory import peak_mb

COLUMNS, CAUSES, NEW = 50, 8, 100_000
#: estimator and rows
CASES = {
    "regression-20000": ("KerHRMRegressor", 20_000),
    "classification-20000": ("KerHRMClassifier", 20_000),
    "regression-200000": ("KerHRMRegressor", 200_000),
    "classification-200000": ("KerHRMClassifier", 200_000),
    "pooled-20000": ("KerHRMRegressor", 20_000),
}


def flips(n: int, task: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (n, 50), targets and hidden environments: a cause's relation flips in a fifth.

    The columns measure eight causes, as those of real tables do.
    """
    random = np.random.default_rng(seed)
    cause, hidden = random.normal(size=(n, CAUSES)), random.random(n) < 0.2
    sign = np.where(hidden & (task != "pooled"), -1.0, 1.0)
    if task == "classification":
        y = random.choice([-1.0, 1.0], n)
        cause[:, 0] += y
        cause[:, 1] = sign * y + 0.2 * random.normal(size=n)
    else:
        y = cause[:, 0] + np.sin(cause[:, 2]) + 2 * sign * cause[:, 1]
        y += 0.5 * random.normal(size=n)
    columns = np.random.default_rng(0).normal(size=(CAUSES, COLUMNS))
    return cause @ columns + 0.1 * random.normal(size=(n, COLUMNS)), y, hidden


def measure(case: str) -> None:
    """Fit, predict, and print."""
    import kerhrm

    name, n = CASES[case]
    x, y, hidden = flips(n, case.partition("-")[0], seed=0)
    model: Any = getattr(kerhrm, name)(n_environments=2, k=25, random_state=0)
    warnings.simplefilter("ignore")
    start, began = time.perf_counter(), time.process_time()
    model.fit(x, y)
    fitted, busy, fit_mb = time.perf_counter() - start, time.process_time() - began, peak_mb()
    new = flips(NEW, "regression", seed=1)[0]
    start, began = time.perf_counter(), time.process_time()
    model.predict(new)
    predicted, predicting = time.perf_counter() - start, time.process_time() - began
    agreement = adjusted_rand_score(hidden, model.environments_)
    print(
        f"{case}: fit {fitted:.1f} s ({busy:.1f} s of a core), {fit_mb / 1e3:.2f} GB; "
        f"predict {NEW} rows {predicted:.1f} s ({predicting:.1f} s of a core), "
        f"{peak_mb() / 1e3:.2f} GB; adjusted Rand {agreement:.3f}; {model.predictor_}; "
        f"{model.heterogeneity_.verdict}",
        flush=True,
    )


def main(names: list[str]) -> None:
    """Run the cases, one process each; or, after ``--here``, one of them in this process."""
    if names[:1] == ["--here"]:
        return measure(names[1])
    for case in names or CASES:
        command = [sys.executable, "-m", "benchmarks.estimators", "--here", case]
        subprocess.run(command, check=True)
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
