"""Fail if a cell of a table has no result."""

import sys

from kerhrm.errors import KerhrmError
from kerhrm.files import write_text
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    folder = run_folder(snakemake.log[0])
    run = Run(folder)
    cells = run.cells(*snakemake.params.tables)
    failed = cells[cells["verdict"] == "failed"]
    if len(failed):
        columns = ["table", "setting", "method", "selection", "metric", "reason"]
        text = failed[columns].to_string(index=False)
        print(text, file=sys.stderr)
        hint = "see the list above and the learners' logs; "
        hint += "everything else has been made"
        raise KerhrmError(f"{len(failed)} cells have no result", hint)
    write_text(snakemake.output[0], "every cell has a result\n")
