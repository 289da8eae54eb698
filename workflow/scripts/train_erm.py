"""Empirical risk minimisation."""

from kerhrm.algorithm.problem import load_labels, load_points
from kerhrm.devices import resolve_device
from kerhrm.features.mlp import init_mlp
from kerhrm.methods.erm import train_erm
from kerhrm.methods.predictions import Predictions
from kerhrm.workflow.job import job

with job(snakemake):
    device = resolve_device(snakemake.params.device)
    x, x_validation, x_test = load_points(snakemake.input, device)
    y, y_validation, task = load_labels(snakemake.input, device)
    mlp = init_mlp(range(len(x)), (x.shape[-1], *snakemake.params.hidden, 1))
    network, _ = train_erm(mlp, x, y, x_validation, y_validation, task=task, **snakemake.params.erm)
    Predictions(network(x), network(x_validation), network(x_test)).save(
        snakemake.output.predictions
    )
    network.save(snakemake.output.network)
