"""M_p of one iteration: invariant directions of all candidates, and the one chosen."""

from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Environments, Problem
from kerhrm.networks.base import resolve_device
from kerhrm.paper.runs.arrays import load_records, save_stacked
from kerhrm.paper.runs.job import job

with job(snakemake):
    device, files = resolve_device(snakemake.params.device), snakemake.input
    options = KerHRMOptions(**snakemake.params.options)
    environments = [
        load_records(Environments, file, device) for file in files.environments
    ]
    problems = load_records(Problem, files.features, device)
    directions = [
        learn_directions(problems[s], list(learned), options).arrays()
        for s, learned in enumerate(zip(*environments, strict=True))
    ]
    save_stacked(snakemake.output[0], directions)
