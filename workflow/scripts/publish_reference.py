"""This run's tables become the committed ones of its seeds, and the pages' if published."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting import development
from kerhrm.reporting.crate import write_crate
from kerhrm.reporting.page.build import write as write_report
from kerhrm.reporting.publication import publish

with job(snakemake):
    run, checkout = Path(snakemake.input.checked).parent, Path(snakemake.params.checkout)
    reference = Path(snakemake.params.reference)
    publish(run, checkout, reference=reference)
    development.write(reference, checkout / development.PAGE)
    write_report(reference, checkout)
    write_crate(reference, checkout)
