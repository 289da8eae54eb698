"""Scores of every iteration of KerHRM, on test points, too."""

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.iteration import Directions
from kerhrm.algorithm.problem import load_problem
from kerhrm.arrays import write_text
from kerhrm.reporting.iterations import score_iterations
from kerhrm.workflow.job import job

with job(snakemake):
    problem = load_problem(snakemake.input, "cpu")
    learned = Environments.load_all(snakemake.input.environments)
    history = Directions.load_all(snakemake.input.theta)
    scores = score_iterations(problem, learned, history, snakemake.input)
    write_text(snakemake.output[0], scores.to_csv(index=False))
