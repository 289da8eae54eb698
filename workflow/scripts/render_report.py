"""The report of a run: its notebook, executed, as a page."""

from kerhrm.paper.reporting.notebooks import render
from kerhrm.paper.runs.job import job, run_folder

with job(snakemake):
    run = str(run_folder(snakemake.log[0]))
    render(
        snakemake.input.notebook,
        snakemake.output.notebook,
        snakemake.output.page,
        run=run,
    )
