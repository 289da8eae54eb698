"""Step 3: the network trained along theta_inv, for every lambda, and the one chosen."""

from kerhrm.algorithm.network import train_networks
from kerhrm.algorithm.options import IGD
from kerhrm.algorithm.prediction import FinalDirection
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.data.samples import load_points
from kerhrm.devices import resolve_device
from kerhrm.jobs.job import job
from kerhrm.networks.build import build, save_network
from kerhrm.networks.options import NetworkOptions

with job(snakemake, resume=True):
    params, device = snakemake.params, resolve_device(snakemake.params.device)
    options, points = IGD(**params.igd), load_points(snakemake.input, device)
    w0 = build(NetworkOptions(**params.network), params.seeds["network"], points[0].shape[-1])
    predictions, chosen, networks = train_networks(
        w0.to(device),
        Problem.load(snakemake.input.features, device),
        *points,
        FinalDirection.load(snakemake.input.direction, device),
        Environments.load_all(snakemake.input.environments, device),
        options,
        params.selection,
    )
    predictions.take(list(range(len(chosen))), chosen.tolist()).save(
        snakemake.output.predictions, penalty=[options.penalty[c] for c in chosen]
    )
    save_network(snakemake.output.network, networks)
