"""A table that is not in `all` becomes the committed one."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting import results_page
from kerhrm.reporting.publication import publish_apart

with job(snakemake):
    params, run = snakemake.params, Path(snakemake.input.config).parent
    folder, checkout = Path(params.folder), Path(params.checkout)
    publish_apart(run, folder, params.table)
    results_page.write(folder.parent, checkout)
