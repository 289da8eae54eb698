"""Find raw files (folder, cache, mirrors) or their synthetic fallback."""

from kerhrm.plugins import load_entry
from kerhrm_paper.runs.job import job

with job(snakemake):
    raw = load_entry(snakemake.params.raw)
    raw.fetch(snakemake.params.raw_dir, snakemake.params.on_missing).save(
        snakemake.output[0]
    )
