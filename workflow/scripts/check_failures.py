"""Fail if a cell of a table has no result."""

from kerhrm.errors import KerhrmError
from kerhrm.jobs.job import job
from kerhrm.reporting.tables import failures, read_table
from kerhrm.storage.arrays import write_text

with job(snakemake):
    if failed := failures(read_table(*snakemake.input.tables)):
        what = "\n".join([f"{len(failed)} cells have no result:", *failed])
        raise KerhrmError(what, "see the methods' logs; everything else has been built")
    write_text(snakemake.output[0], "every cell has a result\n")
