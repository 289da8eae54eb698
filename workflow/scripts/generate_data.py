"""Data, all seeds; labels of test points go to a file of their own."""

from kerhrm.entries import load_entry
from kerhrm.plugins import origin
from kerhrm_paper.data.checks import check_generated
from kerhrm_paper.runs.job import job

with job(snakemake):
    params = snakemake.params
    entries = params.entries
    generate = load_entry(entries["generate"])
    make_options = load_entry(entries["options"])
    options = make_options(**params.options)
    arguments = [options, params.seeds]
    for file in snakemake.input:  # of raw data, if it needs them
        raw = load_entry(entries["raw"])
        arguments.append(raw.load(file))
    draws = check_generated(
        generate(*arguments),
        where=origin("kerhrm.data_sets", params.generator),
        task=params.task,
        n_points=options.n_points,
        seeds=params.seeds,
    )
    draws.save(snakemake.output)
