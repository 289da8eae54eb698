"""A method, trained with every option set that is wanted; a file of predictions for each row."""

from kerhrm.devices import resolve_device
from kerhrm.entries import load
from kerhrm.jobs.job import job
from kerhrm.methods.candidates import train_candidates

with job(snakemake, resume=True):
    params, method = snakemake.params, snakemake.params.method
    prepare = load(f"kerhrm.methods.{method['reads']}:prepare")
    device = resolve_device(params.device)
    given = snakemake.input, params.seeds, params.network, device
    entry, kind, path = load(method["entry"]), load(method["options"]), method["path"]
    train = prepare(entry, *given, path=path)
    how = {"path": path, "side_by_side": device.type != "cpu"}
    rows = train_candidates([kind(**o) for o in params.options], train, **how)
    for file, trial in zip(snakemake.output, rows, strict=True):
        trial.save(file, options=params.options)
