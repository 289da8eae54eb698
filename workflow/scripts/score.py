"""Scores of all predictions of a table, on test points, too."""

from kerhrm.paper.config import Table
from kerhrm.paper.evaluation.scores import score_table
from kerhrm.paper.runs.arrays import write_text
from kerhrm.paper.runs.job import job, run_folder

with job(snakemake):
    table, run = Table(**snakemake.params.table), run_folder(snakemake.log[0])
    scores = score_table(table, snakemake.params.cells, run)
    write_text(snakemake.output[0], scores.to_csv(index=False))
