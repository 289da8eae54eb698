"""A notebook of a table or figure, executed by papermill."""

from kerhrm.jobs.job import job
from kerhrm.reporting.notebooks import execute

with job(snakemake):
    parameters = {
        "title": snakemake.params.title,
        "about": snakemake.params.get("about", ""),
        "preset": snakemake.params.preset,
        "table_csv": snakemake.input.table,
        "scores_csv": list(snakemake.input.scores),
        "restarts_csv": list(snakemake.input.restarts),
        "choices_csv": list(snakemake.input.choices),
        # a figure is written by its notebook; a table has none
        "figure_stem": snakemake.output.get("png", "").removesuffix(".png"),
    }
    if described := snakemake.input.get("described"):
        parameters["described_json"] = described
    execute(snakemake.input.notebook, snakemake.output.notebook, parameters)
