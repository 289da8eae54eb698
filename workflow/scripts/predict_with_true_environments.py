"""KerHRM (NTF) with the true environments given, a reference."""

import torch

from kerhrm.algorithm.iteration import learn_directions
from kerhrm.algorithm.problem import load_problem
from kerhrm.config.methods import Invariance
from kerhrm.methods.ntf_predictor import ntf_predictions
from kerhrm.methods.true_environments import true_environments
from kerhrm.workflow.job import job

with job(snakemake), torch.inference_mode():
    problem = load_problem(snakemake.input, snakemake.params.device)
    given = true_environments(problem, snakemake.params.k, snakemake.input.environments)
    options = Invariance(**snakemake.params.invariance)
    directions = learn_directions(problem, [given], options)
    ntf_predictions(problem, directions.winner.theta).save(snakemake.output[0])
