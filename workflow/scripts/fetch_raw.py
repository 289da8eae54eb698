"""Find raw files (folder, cache, mirrors) or their synthetic fallback."""

from kerhrm.entries import load_entry
from kerhrm_paper.runs.job import job

with job(snakemake):
    params = snakemake.params
    kind = load_entry(params.raw)
    raw = kind.fetch(params.raw_dir, params.on_missing)
    raw.save(snakemake.output[0])
