"""Effects of open choices become the committed ones, and their page is written."""

from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting.ambiguities_page import PUBLISHED, write_page
from kerhrm.reporting.crate import write_crate
from kerhrm.reporting.page.build import write as write_report
from kerhrm.reporting.publication import publish_study
from kerhrm.storage.arrays import write_text

with job(snakemake):
    checkout, run = Path(snakemake.params.checkout), Path(snakemake.input.config).parent
    today = snakemake.params.experiments
    publish_study(run, checkout / PUBLISHED, "ambiguities", checkout, today=today)
    write_text(*write_page(checkout))
    write_report((checkout / PUBLISHED).parent, checkout)
    write_crate((checkout / PUBLISHED).parent, checkout)
