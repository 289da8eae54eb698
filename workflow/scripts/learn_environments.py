"""M_c of one iteration: inferred environments for every candidate dimension."""

import torch

from kerhrm.networks.base import resolve_device
from kerhrm_paper.runs.iterations import write_environments
from kerhrm_paper.runs.job import job

with job(snakemake) as checkpoint, torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    write_environments(
        files=snakemake.input,
        params=snakemake.params,
        t=int(snakemake.wildcards.t),
        device=device,
        output=snakemake.output[0],
        checkpoint=checkpoint,
    )
