"""Reduced neural tangent features: the kernel's SVD, or of many points by way of
landmarks."""

import torch

from kerhrm.networks.base import resolve_device
from kerhrm_paper.runs.extraction import extract_features
from kerhrm_paper.runs.job import job

with job(snakemake) as checkpoint, torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    extract_features(
        files=snakemake.input,
        data=snakemake.params.data,
        device=device,
        outputs=snakemake.output,
        checkpoint=checkpoint,
    )
