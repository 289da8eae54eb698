"""A notebook, executed by papermill."""

from kerhrm.reporting.notebooks import execute
from kerhrm.workflow.job import job

with job(snakemake):
    parameters = {
        "title": snakemake.params.title,
        "preset": snakemake.params.preset,
        "table_csv": snakemake.input.table,
        "scores_csv": list(snakemake.input.scores),
        "restarts_csv": list(snakemake.input.restarts),
        # a figure is written by its notebook; a table has none
        "figure_stem": snakemake.output.get("png", "").removesuffix(".png"),
    }
    execute(snakemake.input.notebook, snakemake.output.notebook, parameters)
