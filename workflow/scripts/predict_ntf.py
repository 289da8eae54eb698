"""End of the iterations: choose T, predict with f_0(x) + psi(x)^T theta."""

import torch

from kerhrm.algorithm.prediction import finish, ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.devices import resolve_device
from kerhrm.jobs.job import job

with job(snakemake), torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    problem = Problem.load(snakemake.input.features, device)
    test = TestFeatures.load(snakemake.input.test_features, device)
    learned = Environments.load_all(snakemake.input.environments, device)
    history = Directions.load_all(snakemake.input.theta, device)
    final = finish(problem, learned, history)
    final.save(snakemake.output.direction)
    every = torch.cat([directions.theta for directions in history], dim=1)
    thetas = {"static": history[0].winner.theta, "final": final.theta, "candidates": every}
    for name, theta in thetas.items():
        ntf_predictions(problem, test, theta).save(snakemake.output[name])
