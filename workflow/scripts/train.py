"""A learner, trained with each of its candidates on each seed."""

from functools import partial

from kerhrm.networks.base import resolve_device
from kerhrm.paper.runs.job import job
from kerhrm.paper.runs.training import Replicates, save_predictions
from kerhrm.plugins import load_entry

with job(snakemake) as checkpoint:
    params = snakemake.params
    fit, kind = (
        load_entry(params.entries["train"]),
        load_entry(params.entries["options"]),
    )
    candidates = [kind(**options) for options in params.candidates]
    device, learner = resolve_device(params.device), snakemake.wildcards.learner
    replicates = Replicates(snakemake.input, params, device, learner)

    def train(s, options):
        return replicates.predictions(s, fit(replicates.inputs(s), options))

    units = [
        [
            checkpoint.once(f"seed={s},candidate={c}", partial(train, s, options))
            for c, options in enumerate(candidates)
        ]
        for s in range(len(replicates))
    ]
    save_predictions(snakemake.output[0], units, candidates=params.candidates)
