"""Checked claims become the committed ones, and their page is written."""

from pathlib import Path

from kerhrm.claims.page import PAGE, PUBLISHED, page, read_claims
from kerhrm.jobs.job import job
from kerhrm.reporting import results_page
from kerhrm.reporting.crate import write_crate
from kerhrm.reporting.page.build import write as write_report
from kerhrm.reporting.publication import publish_study
from kerhrm.storage.arrays import write_text

with job(snakemake):
    checkout, run = Path(snakemake.params.checkout), Path(snakemake.input.config).parent
    publish_study(run, checkout / PUBLISHED.parent, "claims", checkout)
    write_text(checkout / PAGE, page(read_claims(checkout / PUBLISHED)))
    results_page.write(checkout / PUBLISHED.parents[1], checkout)
    write_report(checkout / PUBLISHED.parents[1], checkout)
    write_crate(checkout / PUBLISHED.parents[1], checkout)
