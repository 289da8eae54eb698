"""The end of Algorithm 1: the iteration that predicts, and the network along its
direction."""

from kerhrm_paper.runs.job import job
from kerhrm_paper.runs.training import finish_iterations

with job(snakemake) as checkpoint:
    finish_iterations(
        files=snakemake.input,
        params=snakemake.params,
        output=snakemake.output[0],
        checkpoint=checkpoint,
    )
