"""Your own table: its notebook, executed, as a page."""

from pathlib import Path

from kerhrm.check import read_table
from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.reporting.notebooks import render
from kerhrm_paper.runs.job import job

with job(snakemake):
    files = snakemake.output
    options = snakemake.params.options
    own_table = OwnTable(csv=snakemake.input.csv, **options)
    table = read_table(Path(own_table.csv))
    own_table.check(table)
    render(
        snakemake.input.notebook,
        files.notebook,
        files.page,
        path=own_table.csv,
        device=snakemake.params.device,
        **options,
    )
