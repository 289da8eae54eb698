"""Whether regression data hold environments at all, replicate by replicate."""

from typing import Any

import torch

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.heterogeneity.test import test_problem
from kerhrm_paper.runs.arrays import load_arrays, load_records, save_stacked
from kerhrm_paper.runs.checkpoints import Checkpoint, Result


def write_heterogeneity(
    files: Any, params: Any, output: str, checkpoint: Checkpoint
) -> None:
    """Write what the test finds on each replicate.

    Parameters
    ----------
    files : object
        Files of the training points' ``features``, and of the points, ``train``.
    params : object
        The rule's: options of the ``pretest``, and ``n_seeds``.
    output : str
        File that is written.
    checkpoint : Checkpoint
        Has the replicates that are done.
    """
    options = HeterogeneityOptions(**params.pretest)
    problems = load_records(Problem, files.features)
    arrays, _ = load_arrays(files.train)
    x = torch.from_numpy(arrays["x"])

    def test(s: int) -> Result:
        result = test_problem(problems[s], x[s], options)
        return result.arrays()

    checkpoint.expect(params.n_seeds)
    units = checkpoint.each_seed(params.n_seeds, test)
    save_stacked(output, units)
