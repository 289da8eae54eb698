"""Neural tangent features of all points, in factored form."""

import torch

from kerhrm.arrays import load_arrays
from kerhrm.devices import resolve_device
from kerhrm.features.mlp import init_mlp
from kerhrm.features.ntf import extract
from kerhrm.workflow.job import job

with job(snakemake):
    device = resolve_device(snakemake.params.device)
    for part in ("train", "validation", "test"):
        x = torch.from_numpy(load_arrays(snakemake.input[part])[0]["x"])
        mlp = init_mlp(range(len(x)), (x.shape[-1], *snakemake.params.hidden, 1))
        ntf, f0 = extract(mlp.to(device), x.to(device))
        ntf.save(snakemake.output[part], f0)
