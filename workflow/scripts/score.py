"""Scores of all predictions of a table, on test points, too."""

from kerhrm.files import write_text
from kerhrm_paper.config.tables import TableView
from kerhrm_paper.evaluation.scores import score_table
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    params, run = snakemake.params, run_folder(snakemake.log[0])
    table = TableView.load(params.table)
    scores = score_table(table, params.data, params.n_seeds, run)
    write_text(snakemake.output[0], scores.to_csv(index=False))
