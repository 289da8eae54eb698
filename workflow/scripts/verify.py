"""This run's tables against the committed ones."""

import logging
from pathlib import Path

from kerhrm.jobs.job import job
from kerhrm.reporting.verify import verify

with job(snakemake):
    n = verify(snakemake.input.tables, snakemake.input.reference)
    reference = Path(snakemake.input.reference[0]).parents[1]
    logging.getLogger("kerhrm").info("%d cells agree with %s", n, reference)
