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
    }
    execute(snakemake.input.notebook, snakemake.output[0], parameters)
