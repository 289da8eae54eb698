"""Every number of a run on one page."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting.page.build import write

with job(snakemake):
    page = Path(snakemake.output[0])
    write(page.parent, Path(snakemake.params.checkout), page)
