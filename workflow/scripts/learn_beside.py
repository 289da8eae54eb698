"""What stands beside KerHRM's iterations: pooled ERM on Psi, and those of the released code."""

import torch

from kerhrm.algorithm.problem import Problem
from kerhrm.devices import resolve_device
from kerhrm.heterogeneity.guard import pooled_direction
from kerhrm.jobs.job import job
from kerhrm.released.options import Released
from kerhrm.released.train import ReleasedIteration, iterate_released

with job(snakemake), torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    problem = Problem.load(snakemake.input.features, device)
    pooled_direction(problem, snakemake.params.k).save(snakemake.output.pooled)
    released = iterate_released(problem, Released(**snakemake.params.released))
    ReleasedIteration.stack(released).save(snakemake.output.released)
