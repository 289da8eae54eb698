"""M_p of one iteration: invariant directions of all candidates, and the one chosen."""

import torch

from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.options import Invariance
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.devices import resolve_device
from kerhrm.jobs.job import job

with job(snakemake), torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    problem = Problem.load(snakemake.input.features, device)
    learned = Environments.load_all(snakemake.input.environments, device)
    options = Invariance(**snakemake.params.invariance)
    directions = learn_directions(problem, learned, options, snakemake.params.selection)
    directions.save(snakemake.output[0])
