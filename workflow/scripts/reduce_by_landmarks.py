"""Reduced features of many points by landmarks; all points projected onto their directions."""

import torch

from kerhrm.algorithm.pose import pose_by_landmarks
from kerhrm.data.samples import load_labels, load_points
from kerhrm.devices import resolve_device
from kerhrm.features.options import Landmarks
from kerhrm.jobs.job import job
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions

with job(snakemake), torch.inference_mode():
    params, device = snakemake.params, resolve_device(snakemake.params.device)
    y, y_validation, task = load_labels(snakemake.input, device)
    points = load_points(snakemake.input, device)
    w0 = build(NetworkOptions(**params.network), params.seeds["network"], points[0].shape[-1])
    landmarks, problem, test = pose_by_landmarks(
        w0.to(device),
        *points,
        y,
        y_validation,
        k=params.k,
        task=task,
        seeds=params.seeds["clustering"],
        options=Landmarks(**params.landmarks),
        draws=params.seeds["network"],
    )
    landmarks.save(snakemake.output.landmarks)
    problem.save(snakemake.output.features)
    test.save(snakemake.output.test_features)
