"""The measured sections of the README."""

from kerhrm.reporting.readme import sections, update
from kerhrm.workflow.job import job

with job(snakemake):
    parts = sections(
        snakemake.input.tables,
        snakemake.input.cells,
        snakemake.input.restarts,
        snakemake.params.logs,
    )
    update(parts, snakemake.output[0], snakemake.params.readme)
