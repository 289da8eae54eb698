"""A table that is not in `all` becomes the committed one."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting.publication import publish_apart

with job(snakemake):
    params, run = snakemake.params, Path(snakemake.input.config).parent
    publish_apart(run, Path(params.folder), params.table)
