"""Find the house sales of King County (folder, cache, mirrors) or their stand-in."""

from kerhrm.data.houses import load_houses
from kerhrm.workflow.job import job

with job(snakemake):
    houses = load_houses(snakemake.params.raw_dir, snakemake.params.on_missing)
    houses.save(snakemake.output[0])
