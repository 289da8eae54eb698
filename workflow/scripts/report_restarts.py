"""How many starts of the clustering were of which kind, for every result."""

from kerhrm.arrays import write_text
from kerhrm.reporting.restarts import restart_report
from kerhrm.workflow.job import job

with job(snakemake):
    write_text(snakemake.output[0], restart_report(snakemake.input).to_csv(index=False))
