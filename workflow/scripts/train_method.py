"""A method, trained with every option set that is wanted; a file of predictions for each row."""

from kerhrm.devices import resolve_device
from kerhrm.entries import load
from kerhrm.jobs.job import job
from kerhrm.methods.candidates import train_candidates

with job(snakemake, resume=True):
    params, method = snakemake.params, snakemake.params.method
    prepare = load(f"kerhrm.methods.{method['reads']}:prepare")
    given = snakemake.input, params.seeds, params.network, resolve_device(params.device)
    entry, kind, path = load(method["entry"]), load(method["options"]), method["path"]
    train = prepare(entry, *given, path=path)
    rows = train_candidates([kind(**o) for o in params.options], train, path=path)
    for file, trial in zip(snakemake.output, rows, strict=True):
        trial.save(file, options=params.options)
