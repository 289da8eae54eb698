"""The resolved configuration, as it was used."""

from kerhrm.files import write_text
from kerhrm_paper.config.strict_yaml import dump
from kerhrm_paper.runs.job import job

with job(snakemake):
    content = dump(snakemake.params.config)
    write_text(snakemake.output[0], content)
