"""KerHRM as its authors released it."""

from kerhrm.algorithm.problem import load_problem
from kerhrm.config.methods import Released
from kerhrm.methods.ntf_predictor import ntf_predictions
from kerhrm.methods.released import train_released
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    problem = load_problem(snakemake.input, snakemake.params.device)
    options = Released(**snakemake.params.released)
    theta = train_released(problem, options, problem.seeds)
    ntf_predictions(problem, theta).save(snakemake.output[0])
