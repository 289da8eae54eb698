"""The end of Algorithm 1: the iteration that predicts, and the network along its
direction."""

from functools import partial

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.heterogeneity.test import HeterogeneityResult
from kerhrm.methods.kerhrm import finish
from kerhrm.networks.base import resolve_device
from kerhrm.paper.runs.arrays import load_records
from kerhrm.paper.runs.job import job
from kerhrm.paper.runs.training import Replicates, save_predictions

with job(snakemake) as checkpoint:
    params, files = snakemake.params, snakemake.input
    device = resolve_device(params.device)
    replicates = Replicates(files, params, device, snakemake.wildcards.learner)
    options = KerHRMOptions(**params.options)
    environments = [
        load_records(Environments, file, device) for file in files.environments
    ]
    directions = [load_records(Directions, file, device) for file in files.directions]
    pretests = (
        load_records(HeterogeneityResult, files.heterogeneity)
        if files.heterogeneity
        else []
    )

    def train(s):
        inputs = replicates.inputs(s, pretests[s] if pretests else None)
        learned = [e[s] for e in environments], [d[s] for d in directions]
        return replicates.predictions(s, finish(inputs, options, *learned))

    units = [
        [checkpoint.once(f"seed={s}", partial(train, s))]
        for s in range(len(replicates))
    ]
    save_predictions(snakemake.output[0], units, candidates=[params.options])
