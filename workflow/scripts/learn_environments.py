"""M_c of one iteration: inferred environments for every candidate dimension."""

import torch

from kerhrm.networks.base import resolve_device
from kerhrm_paper.runs.iterations import write_environments
from kerhrm_paper.runs.job import job

with job(snakemake) as checkpoint, torch.inference_mode():
    params, t = snakemake.params, int(snakemake.wildcards.t)
    device, output = resolve_device(params.device), snakemake.output[0]
    write_environments(snakemake.input, params, t, device, output, checkpoint)
