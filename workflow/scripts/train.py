"""Learners of one base on some data, each on each of its replicates."""

from kerhrm_paper.runs.job import job
from kerhrm_paper.runs.training import train_learners

with job(snakemake) as checkpoint:
    train_learners(
        files=snakemake.input,
        params=snakemake.params,
        outputs=snakemake.output,
        checkpoint=checkpoint,
    )
