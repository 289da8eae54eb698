"""A method that goes from features to a network; one file of predictions for each row."""

from kerhrm.devices import resolve_device
from kerhrm.entries import load
from kerhrm.jobs.job import job
from kerhrm.methods.whole import prepare

with job(snakemake, resume=True):
    params, files = snakemake.params, snakemake.input
    (options,), method, device = params.options, params.method, resolve_device(params.device)
    given = files, params.seeds, params.network, device
    rows = prepare(load(method["entry"]), *given)(load(method["options"])(**options))
    for path, predictions in zip(snakemake.output, rows, strict=True):
        predictions.save(path, options=[options])
