"""Step 3: the network trained along theta_inv, for every lambda, and the one chosen."""

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.problem import load_problem
from kerhrm.config.methods import Network
from kerhrm.features.mlp import init_mlp
from kerhrm.methods.network import train_networks
from kerhrm.methods.ntf_predictor import FinalDirection
from kerhrm.methods.predictions import load_points
from kerhrm.workflow.job import job

with job(snakemake, resume=True):
    problem = load_problem(snakemake.input, snakemake.params.device)
    options = Network(**snakemake.params.network)
    points = load_points(snakemake.input, problem.device)
    predictions, chosen, networks = train_networks(
        init_mlp(problem.seeds, (points[0].shape[-1], *snakemake.params.hidden, 1)),
        problem,
        *points,
        FinalDirection.load(snakemake.input.direction, problem.device),
        Environments.load_all(snakemake.input.environments, problem.device),
        options,
    )
    predictions.save(snakemake.output.candidates, penalty=options.penalty)
    predictions.take(list(problem.seeds), chosen.tolist()).save(
        snakemake.output.predictions, penalty=[options.penalty[c] for c in chosen]
    )
    networks.save(snakemake.output.network)
