"""Every number of a run on one page."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting.page.build import write

with job(snakemake):
    write(Path(snakemake.params.run), Path(snakemake.params.checkout), Path(snakemake.output[0]))
