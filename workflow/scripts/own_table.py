"""Your own table: its notebook, executed, as a page."""

from pathlib import Path

from kerhrm.check import read_table
from kerhrm_paper.config.own_table import OwnTable
from kerhrm_paper.config.own_table_rows import check_table
from kerhrm_paper.reporting.notebooks import render
from kerhrm_paper.runs.job import job

with job(snakemake):
    files = snakemake.output
    options = snakemake.params.options
    keys = OwnTable(csv=snakemake.input.csv, **options)
    table = read_table(Path(keys.csv))
    check_table(keys, table)
    render(
        snakemake.input.notebook,
        files.notebook,
        files.page,
        path=keys.csv,
        device=snakemake.params.device,
        **options,
    )
