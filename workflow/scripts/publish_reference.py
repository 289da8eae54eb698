"""This run's tables and figures become the committed ones, and its numbers the README's."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting.publication import publish

with job(snakemake):
    run = Path(snakemake.input.checked).parent
    publish(run, Path(snakemake.params.reference), Path(snakemake.params.readme))
