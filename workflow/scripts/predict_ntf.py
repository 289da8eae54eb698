"""End of the iterations: choose T, predict with f_0(x) + psi(x)^T theta."""

import torch

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.iteration import Directions
from kerhrm.algorithm.problem import load_problem
from kerhrm.methods.ntf_predictor import finish, ntf_predictions
from kerhrm.workflow.job import job

with job(snakemake), torch.inference_mode():
    problem = load_problem(snakemake.input, snakemake.params.device)
    learned = Environments.load_all(snakemake.input.environments, problem.device)
    history = Directions.load_all(snakemake.input.theta, problem.device)
    final = finish(problem, learned, history)
    final.save(snakemake.output.direction)
    ntf_predictions(problem, history[0].winner.theta).save(snakemake.output.static)
    ntf_predictions(problem, final.theta).save(snakemake.output.final)
    every = torch.cat([directions.theta for directions in history], dim=1)
    ntf_predictions(problem, every).save(snakemake.output.candidates)
