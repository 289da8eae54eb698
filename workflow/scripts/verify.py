"""This run's tables against the published ones."""

import logging
from pathlib import Path

from kerhrm.errors import KerhrmError
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.verify import verify
from kerhrm_paper.runs.job import job, run_folder

with job(snakemake):
    folder = run_folder(snakemake.log[0])
    run = Run(folder)
    verification = verify(run, Path(snakemake.params.reference))
    departures = verification.departures
    if len(departures):
        print(departures.to_string(index=False, float_format="%.4g"))
        hint = "another machine's rounding moves networks; see docs/protocol.md"
        raise KerhrmError(str(verification), hint)
    log = logging.getLogger("kerhrm")
    log.info("%s", verification)
