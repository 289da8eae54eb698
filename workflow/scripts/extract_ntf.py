"""Neural tangent features of all points, as factors or what they are computed from."""

import torch

from kerhrm.devices import resolve_device
from kerhrm.features.extract import extract
from kerhrm.jobs.job import job
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.storage.arrays import load_arrays

with job(snakemake, keep=False):
    device = resolve_device(snakemake.params.device)
    options, seeds = NetworkOptions(**snakemake.params.network), snakemake.params.seeds["network"]
    for part in ("train", "validation", "test"):
        x = torch.from_numpy(load_arrays(snakemake.input[part])[0]["x"])
        network = build(options, seeds, x.shape[-1])
        ntf, f0 = extract(network.to(device), x.to(device))
        ntf.save(snakemake.output[part], f0)
