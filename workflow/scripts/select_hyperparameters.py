"""Hyper-parameters of the baselines by a selection rule, and the scores of the whole grid."""

from kerhrm.methods.tuning import save_choice, search
from kerhrm.workflow.job import job

with job(snakemake):
    scores = search(snakemake.input, snakemake.params.rules)
    save_choice(scores, snakemake.output.choice, snakemake.output.grid, snakemake.params.key)
