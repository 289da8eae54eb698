"""Scores of all settings of an experiment in one file, how the clustering went, and choices."""

import pandas as pd

from kerhrm.jobs.job import job
from kerhrm.reporting.choices import choice_report
from kerhrm.reporting.restarts import restart_report
from kerhrm.storage.arrays import write_text

with job(snakemake):
    scores = pd.concat([pd.read_csv(p) for p in snakemake.input.scores], ignore_index=True)
    files, params = snakemake.input.environments, snakemake.params
    restarts = restart_report(files, params.searches, params.replicates)
    networks = dict(zip(params.trained, snakemake.input.networks, strict=True))
    tests = dict(zip(params.tested, snakemake.input.tests, strict=True))
    chosen = snakemake.input.directions, networks, tests, params.directed, params.replicates
    write_text(snakemake.output.scores, scores.to_csv(index=False))
    write_text(snakemake.output.restarts, restarts.to_csv(index=False))
    write_text(snakemake.output.choices, choice_report(*chosen).to_csv(index=False))
