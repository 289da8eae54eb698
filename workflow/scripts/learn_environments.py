"""M_c of one iteration: learned environments for every candidate dimension."""

import torch

from kerhrm.algorithm.exploration import learn_environments
from kerhrm.algorithm.options import KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.data.samples import load_inputs
from kerhrm.devices import resolve_device
from kerhrm.jobs.job import job

with job(snakemake, resume=True), torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    problem = Problem.load(snakemake.input.features, device)
    theta, begin = snakemake.input.get("theta"), snakemake.input.get("begin")
    last = Directions.load(theta, device) if theta else None
    start = Environments.load(begin, device) if begin else None
    options, t = KerHRM(**snakemake.params.options), int(snakemake.wildcards.t)
    learn_environments(
        problem,
        options,
        t,
        last,
        start,
        earlier=Directions.load_all(snakemake.input.get("earlier", []), device),
        inputs=load_inputs(snakemake.input.get("inputs", []), device),
    ).save(snakemake.output[0])
