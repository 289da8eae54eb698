"""Truncated SVD of the training points' features; the other points projected onto it."""

import torch

from kerhrm.devices import resolve_device
from kerhrm.features.ntf import load_ntf
from kerhrm.features.reduction import reduce_features
from kerhrm.workflow.job import job

with job(snakemake, resume=True), torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    parts = [load_ntf(snakemake.input[p], device) for p in ("train", "validation", "test")]
    ntf, f0 = zip(*parts, strict=True)
    reduce_features(*ntf, f0, snakemake.params.k).save(snakemake.output[0])
