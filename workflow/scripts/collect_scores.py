"""Scores of all settings of an experiment in one file, and how the clustering went."""

import pandas as pd

from kerhrm.arrays import write_text
from kerhrm.reporting.restarts import restart_report
from kerhrm.workflow.job import job

with job(snakemake):
    scores = pd.concat([pd.read_csv(p) for p in snakemake.input.scores], ignore_index=True)
    restarts = restart_report(snakemake.input.environments)
    write_text(snakemake.output.scores, scores.to_csv(index=False))
    write_text(snakemake.output.restarts, restarts.to_csv(index=False))
