"""M_p of one iteration: invariant directions of all candidates, and the one chosen."""

import torch

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.iteration import learn_directions
from kerhrm.algorithm.problem import load_problem
from kerhrm.config.methods import Invariance
from kerhrm.workflow.job import job

with job(snakemake), torch.inference_mode():
    problem = load_problem(snakemake.input, snakemake.params.device)
    learned = Environments.load_all(snakemake.input.environments, problem.device)
    options = Invariance(**snakemake.params.invariance)
    learn_directions(problem, learned, options).save(snakemake.output[0])
