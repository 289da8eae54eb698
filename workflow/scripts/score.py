"""Scores of all predictions of a table, on test points, too."""

from kerhrm.files import write_text
from kerhrm_paper.config.views import TableView
from kerhrm_paper.evaluation.completed import completed
from kerhrm_paper.evaluation.scores import score_table
from kerhrm_paper.reporting.run import read_scores
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    params = snakemake.params
    scores = score_table(
        table=TableView.load(params.table),
        data=params.data,
        n_seeds=params.n_seeds,
        run=run_folder(snakemake.log[0]),
    )
    if snakemake.input.get("published"):
        published = read_scores(snakemake.input.published)
        scores = completed(scores, published)
    text = scores.to_csv(index=False)
    write_text(snakemake.output[0], text)
