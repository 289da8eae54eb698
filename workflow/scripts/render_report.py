"""The report of a run: its notebook, executed, as a page."""

from pathlib import Path

from kerhrm_paper.reporting.notebooks import render
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.verify import agreement
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    params = snakemake.params
    run = run_folder(snakemake.log[0])
    # no parameter, whose path would change with the checkout's place; of
    # workflow/rules/../scripts
    checkout = Path(snakemake.scriptdir).resolve().parents[1]
    reference = checkout / "results/reference"
    sentence, departures = agreement(Run(run), reference)
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
