"""Fail if a cell of a table has no result."""

from kerhrm.errors import KerhrmError
from kerhrm.paper.reporting.run import Run
from kerhrm.paper.runs.arrays import write_text
from kerhrm.paper.runs.job import job, run_folder

with job(snakemake):
    cells = Run(run_folder(snakemake.log[0])).cells(*snakemake.params.tables)
    failed = cells[cells["verdict"] == "failed"]
    if len(failed):
        columns = ["table", "setting", "method", "selection", "metric", "reason"]
        what = "\n".join(" | ".join(map(str, row)) for row in failed[columns].to_numpy())
        hint = "see the learners' logs; everything else has been made"
        raise KerhrmError(f"{len(failed)} cells have no result:\n{what}\n", hint)
    write_text(snakemake.output[0], "every cell has a result\n")
