"""Data, all seeds; labels of test points go to a file of their own."""

from kerhrm.plugins import load_entry, origin
from kerhrm_paper.data.checks import check_generated
from kerhrm_paper.runs.job import job

with job(snakemake):
    entries = snakemake.params.entries
    options = load_entry(entries["options"])(**snakemake.params.options)
    generate, seeds = load_entry(entries["generate"]), snakemake.params.seeds
    raw = [load_entry(entries["raw"]).load(file) for file in snakemake.input]
    made = generate(options, seeds, *raw)
    where = origin("kerhrm.data_sets", snakemake.params.generator)
    task, n_points = snakemake.params.task, options.n_points
    check_generated(made, where, task, n_points, seeds).save(snakemake.output)
