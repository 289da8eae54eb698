"""The library in memory gives what the workflow has on disk, bit for bit."""

from pathlib import Path

import numpy as np
import pytest
import torch
from expected import CELLS, CONFIG
from threadpoolctl import threadpool_limits

from kerhrm.algorithm.loop import fit
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm_paper.runs.arrays import load_arrays, load_records

pytestmark = pytest.mark.dag

STAGED = [cell for cell in CELLS if CONFIG.learner(*cell).checkpointed]


@pytest.mark.parametrize("cell", STAGED, ids="/".join)
def test_the_loop_in_memory_is_the_workflows(
    results: Path, cell: tuple[str, str]
) -> None:
    """Algorithm 1 by one call, and by one job for each of its steps."""
    options = CONFIG.learner(*cell).options
    assert isinstance(options, KerHRMOptions)
    features = results / cell[0] / "features/training.npz"
    problems = load_records(Problem, features, "cpu")
    iterations = results.joinpath(*cell, "iterations")
    threads = torch.get_num_threads()
    with threadpool_limits(1), torch.inference_mode():
        torch.set_num_threads(1)  # as in the jobs
        fits = [fit(problem, options) for problem in problems]
    torch.set_num_threads(threads)
    for t in range(1, options.n_iterations + 1):
        for name in ("environments", "directions"):
            stored, _ = load_arrays(iterations / str(t) / f"{name}.npz")
            for seed, fitted in enumerate(fits):
                for key, array in getattr(fitted, name)[t - 1].arrays().items():
                    assert np.array_equal(stored[key][seed], array, equal_nan=True), (
                        t,
                        key,
                    )
