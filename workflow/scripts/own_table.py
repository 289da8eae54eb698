"""A table of one's own: its notebook, executed, as a page."""

from kerhrm.paper.reporting.notebooks import render
from kerhrm.paper.runs.job import job

with job(snakemake):
    files, options = snakemake.output, snakemake.params.options
    render(
        snakemake.input.notebook,
        files.notebook,
        files.page,
        path=snakemake.input.csv,
        **options,
    )
