"""Fail if a cell of a table has no result."""

from kerhrm.arrays import write_text
from kerhrm.errors import KerhrmError
from kerhrm.reporting.failures import failures
from kerhrm.workflow.job import job

with job(snakemake):
    if failed := failures(snakemake.input.tables):
        what = "\n".join([f"{len(failed)} cells have no result:", *failed])
        raise KerhrmError(what, "see the methods' logs; everything else has been built")
    write_text(snakemake.output[0], "every cell has a result\n")
