"""This run's tables and figures become the committed ones."""

from pathlib import Path

from kerhrm.reporting.reference import publish
from kerhrm.workflow.job import job

with job(snakemake):
    publish(Path(snakemake.input.checked).parent, snakemake.params.reference)
