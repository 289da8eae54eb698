"""One setting's data set, all seeds; labels of test points go to a file of their own."""

from kerhrm.data.registry import generate
from kerhrm.jobs.job import job

with job(snakemake):
    data = generate(snakemake.params.data, snakemake.params.seeds, snakemake.input.get("raw"))
    data.save(snakemake.output)
