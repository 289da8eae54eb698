"""Truncated SVD of the training points' features; the other points projected onto it."""

import torch

from kerhrm.algorithm.pose import pose
from kerhrm.data.samples import load_labels
from kerhrm.devices import resolve_device
from kerhrm.features.extract import load_ntf
from kerhrm.jobs.job import job

with job(snakemake, resume=True), torch.inference_mode():
    device = resolve_device(snakemake.params.device)
    y, y_validation, task = load_labels(snakemake.input, device, torch.float64)
    problem, test = pose(
        *(load_ntf(path, device) for path in snakemake.input.ntf),
        y,
        y_validation,
        k=snakemake.params.k,
        task=task,
        seeds=snakemake.params.seeds["clustering"],
    )
    problem.save(snakemake.output.features)
    test.save(snakemake.output.test_features)
