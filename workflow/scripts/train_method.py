"""A method, trained with every option set on trial."""

from kerhrm.devices import resolve_device
from kerhrm.entries import load
from kerhrm.jobs.job import job
from kerhrm.methods.candidates import train_candidates

with job(snakemake, resume=True):
    params = snakemake.params
    method, device = params.method, resolve_device(params.device)
    prepare = load(f"kerhrm.methods.{method['reads']}:prepare")
    entry, kind = load(method["entry"]), load(method["options"])
    train = prepare(entry, snakemake.input, params.seeds, params.network, device)
    outputs = train_candidates([kind(**o) for o in params.options], train)
    outputs.save(snakemake.output[0], options=params.options)
