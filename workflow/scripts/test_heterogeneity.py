"""Whether regression data hold environments at all, seed by seed."""

from functools import partial

import torch

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.heterogeneity.test import test_problem
from kerhrm_paper.runs.arrays import load_arrays, load_records, save_stacked
from kerhrm_paper.runs.job import job

with job(snakemake) as checkpoint:
    options = HeterogeneityOptions(**snakemake.params.pretest)
    problems = load_records(Problem, snakemake.input.features)
    arrays, _ = load_arrays(snakemake.input.train)
    x = torch.from_numpy(arrays["x"])

    def test(s):
        result = test_problem(problems[s], x[s], options)
        return result.arrays()

    units = []
    checkpoint.expect(snakemake.params.n_seeds)
    for s in range(snakemake.params.n_seeds):
        compute = partial(test, s)
        unit = checkpoint.once(f"seed={s}", compute)
        units.append(unit)
    save_stacked(snakemake.output[0], units)
