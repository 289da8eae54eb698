"""One setting's data, all seeds; labels of test points go to a file of their own."""

from kerhrm.paper.runs.job import job
from kerhrm.plugins import load_entry

with job(snakemake):
    entries = snakemake.params.entries
    options = load_entry(entries["options"])(**snakemake.params.options)
    generate, seeds = load_entry(entries["generate"]), snakemake.params.seeds["data"]
    raw = [load_entry(entries["raw"]).load(file) for file in snakemake.input]
    generate(options, seeds, *raw).save(snakemake.output)
