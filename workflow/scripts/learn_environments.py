"""M_c of one iteration: inferred environments for every candidate dimension."""

import torch

from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Environments, Problem
from kerhrm.networks.base import resolve_device
from kerhrm.paper.runs.arrays import load_arrays, load_records, save_stacked
from kerhrm.paper.runs.job import job

with job(snakemake) as checkpoint, torch.inference_mode():
    device, files = resolve_device(snakemake.params.device), snakemake.input
    options, t = KerHRMOptions(**snakemake.params.options), int(snakemake.wildcards.t)
    problems = load_records(Problem, files.features, device)
    environments = [
        load_records(Environments, file, device) for file in files.environments
    ]
    directions = [load_records(Directions, file, device) for file in files.directions]
    points = [load_arrays(file)[0]["x"] for file in (files.train, files.validation)]

    n_seeds = len(snakemake.params.seeds["network"])

    def learn(s):
        before = [one[s] for one in environments], [one[s] for one in directions]
        inputs = tuple(torch.from_numpy(x[s]).to(device) for x in points)
        return learn_environments(problems[s], options, t, *before, inputs).arrays()

    units = [checkpoint.once(f"seed={s}", lambda s=s: learn(s)) for s in range(n_seeds)]
    save_stacked(snakemake.output[0], units)
