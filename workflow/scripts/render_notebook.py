"""A notebook of a table or figure, executed by papermill."""

from pathlib import Path

from kerhrm_paper.reporting.notebooks import render
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    render(
        snakemake.input.notebook,
        snakemake.output.notebook,
        run=str(run_folder(snakemake.log[0])),
        table=snakemake.wildcards.table,
        figure=str(Path(snakemake.output.png).with_suffix("")),
    )
