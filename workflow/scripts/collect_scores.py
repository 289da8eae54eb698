"""Scores of all settings of an experiment in one file."""

import pandas as pd

from kerhrm.arrays import write_text
from kerhrm.workflow.job import job

with job(snakemake):
    scores = pd.concat([pd.read_csv(path) for path in snakemake.input], ignore_index=True)
    write_text(snakemake.output[0], scores.to_csv(index=False))
