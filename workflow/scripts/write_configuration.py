"""The resolved configuration, as it was used."""

import yaml

from kerhrm.files import write_text
from kerhrm_paper.runs.job import job

with job(snakemake):
    content = yaml.safe_dump(snakemake.params.config, sort_keys=False)
    write_text(snakemake.output[0], content)
