"""This run's tables against the committed ones."""

import logging

from kerhrm.reporting.verify import verify
from kerhrm.workflow.job import job

with job(snakemake):
    n = verify(snakemake.params.fresh, snakemake.params.reference)
    logging.getLogger("kerhrm").info("%d cells agree with %s", n, snakemake.params.reference)
