"""M_c of one iteration: learned environments for every candidate dimension."""

import torch

from kerhrm.algorithm.exploration import explore
from kerhrm.algorithm.iteration import start_of_iteration
from kerhrm.algorithm.problem import load_problem
from kerhrm.config.methods import Clustering
from kerhrm.workflow.job import job

with job(snakemake, resume=True), torch.inference_mode():
    problem = load_problem(snakemake.input, snakemake.params.device)
    k, theta = start_of_iteration(problem, snakemake.params.k, snakemake.input.get("theta"))
    options = Clustering(**snakemake.params.clustering)
    t = int(snakemake.wildcards.t)
    explore(problem, k, options, iteration=t, theta=theta).save(snakemake.output[0])
