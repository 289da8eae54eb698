"""The report of a run: its notebook, executed, as a page."""

from pathlib import Path

from kerhrm.paper.reporting.notebooks import render
from kerhrm.paper.reporting.run import Run
from kerhrm.paper.reporting.verify import agreement
from kerhrm.paper.runs.job import job, run_folder

with job(snakemake):
    params, run = snakemake.params, run_folder(snakemake.log[0])
    sentence, departures = agreement(Run(run), Path(params.reference))
    render(
        snakemake.input.notebook,
        snakemake.output.notebook,
        snakemake.output.page,
        run=str(run),
        agreement=sentence,
        departures=departures,
        own_tables=params.own_tables,
        selected=params.selected,
    )
