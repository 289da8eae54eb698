"""Whether regression data hold environments at all, seed by seed."""

import torch

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.algorithm.records import Problem
from kerhrm.heterogeneity.test import test_problem
from kerhrm_paper.runs.arrays import load_arrays, load_records, save_stacked
from kerhrm_paper.runs.job import job

with job(snakemake) as checkpoint:
    options = HeterogeneityOptions(**snakemake.params.pretest)
    problems = load_records(Problem, snakemake.input.features)
    x = torch.from_numpy(load_arrays(snakemake.input.train)[0]["x"])
    units = [
        checkpoint.once(
            f"seed={s}", lambda s=s: test_problem(problems[s], x[s], options).arrays()
        )
        for s in range(snakemake.params.n_seeds)
    ]
    save_stacked(snakemake.output[0], units)
