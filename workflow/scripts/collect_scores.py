"""Scores of all settings of an experiment in one file, and how the clustering went."""

import pandas as pd

from kerhrm.jobs.job import job
from kerhrm.reporting.restarts import restart_report
from kerhrm.storage.arrays import write_text

with job(snakemake):
    scores = pd.concat([pd.read_csv(p) for p in snakemake.input.scores], ignore_index=True)
    files, params = snakemake.input.environments, snakemake.params
    restarts = restart_report(files, params.searches, params.replicates)
    write_text(snakemake.output.scores, scores.to_csv(index=False))
    write_text(snakemake.output.restarts, restarts.to_csv(index=False))
