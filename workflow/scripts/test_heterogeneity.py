"""Whether regression data hold environments at all, seed by seed."""

import torch

from kerhrm.algorithm.options import Heterogeneity
from kerhrm.algorithm.problem import Problem
from kerhrm.heterogeneity.verdict import examine
from kerhrm.jobs.job import job
from kerhrm.storage.arrays import load_arrays

with job(snakemake):
    problem = Problem.load(snakemake.input.features)
    x = torch.from_numpy(load_arrays(snakemake.input.train)[0]["x"])
    found = examine(problem, x, Heterogeneity(**snakemake.params.options))
    found.save(snakemake.output[0])
