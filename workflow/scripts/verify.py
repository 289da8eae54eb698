"""This run's tables against the committed ones."""

import logging
from pathlib import Path

from kerhrm.reporting.verify import verify
from kerhrm.workflow.job import job

with job(snakemake):
    fresh, reference = (
        Path(tables[0]).parents[1] for tables in (snakemake.input.tables, snakemake.input.reference)
    )
    n = verify(fresh, reference)
    logging.getLogger("kerhrm").info("%d cells agree with %s", n, reference)
