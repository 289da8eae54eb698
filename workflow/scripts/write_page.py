"""An executed notebook as a page."""

from kerhrm.jobs.job import job
from kerhrm.reporting.pages import to_html
from kerhrm.storage.arrays import write_text

with job(snakemake):
    write_text(snakemake.output[0], to_html(snakemake.input[0]))
