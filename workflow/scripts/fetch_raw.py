"""Find raw files (folder, cache, mirrors) or their stand-in."""

from kerhrm.data.registry import fetch
from kerhrm.jobs.job import job

with job(snakemake):
    raw = fetch(snakemake.wildcards.raw, snakemake.params.raw_dir, snakemake.params.on_missing)
    raw.save(snakemake.output[0])
