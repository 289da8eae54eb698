"""A table that is not in `all` becomes the committed one."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting import results_page
from kerhrm.reporting.crate import write_crate
from kerhrm.reporting.page.build import write as write_report
from kerhrm.reporting.publication import publish_apart

with job(snakemake):
    params, run = snakemake.params, Path(snakemake.input.config).parent
    folder, checkout = Path(params.folder), Path(params.checkout)
    publish_apart(run, folder, params.table, checkout, today=params.experiments)
    results_page.write(folder.parent, checkout)
    write_report(folder.parent, checkout)
    write_crate(folder.parent, checkout)
