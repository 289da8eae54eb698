"""What a user's table holds: how it was read, and the environments found in it."""

import json

from kerhrm.jobs.job import job
from kerhrm.scoring.found import describe
from kerhrm.storage.arrays import write_text

with job(snakemake):
    files = snakemake.input
    told = describe(
        files.train,
        list(files.environments),
        next(iter(files.directions), None),
        files.get("truth") or None,
        snakemake.params.replicates,
    )
    write_text(snakemake.output[0], json.dumps(told, indent=1) + "\n")
