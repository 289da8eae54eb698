"""This run's tables and figures become the committed ones."""

from kerhrm.reporting.reference import publish
from kerhrm.workflow.job import job

with job(snakemake):
    publish(snakemake.params.results, snakemake.params.reference)
