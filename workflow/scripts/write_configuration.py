"""The resolved configuration, as it was used."""

import yaml

from kerhrm.jobs.job import job
from kerhrm.storage.arrays import write_text

with job(snakemake):
    write_text(snakemake.output[0], yaml.safe_dump(snakemake.params.config, sort_keys=False))
