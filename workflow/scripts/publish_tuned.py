"""This run's choice of hyper-parameters becomes the committed one."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting.publication import publish_tuned

with job(snakemake):
    publish_tuned(Path(snakemake.input.config).parent, Path(snakemake.params.tuned))
