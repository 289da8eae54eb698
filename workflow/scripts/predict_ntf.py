"""End of the iterations: choose T, or pooled ERM where there is nothing to find, and predict."""

import torch

from kerhrm.algorithm.prediction import finish, ntf_predictions
from kerhrm.algorithm.problem import Problem, TestFeatures
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.devices import resolve_device
from kerhrm.heterogeneity.guard import guarded, pooled_direction
from kerhrm.heterogeneity.records import HeterogeneityTest
from kerhrm.jobs.job import job

with job(snakemake), torch.inference_mode():
    device, rule = resolve_device(snakemake.params.device), snakemake.params.rule
    problem = Problem.load(snakemake.input.features, device)
    test = TestFeatures.load(snakemake.input.test_features, device)
    learned = Environments.load_all(snakemake.input.environments, device)
    history = Directions.load_all(snakemake.input.theta, device)
    ends = [finish(problem, learned[:t], history[:t], **rule) for t in (1, len(history))]
    if snakemake.input.heterogeneity:
        tested = HeterogeneityTest.load(snakemake.input.heterogeneity, device)
        pooled = pooled_direction(problem, snakemake.params.k)
        ends = [guarded(end, pooled, tested.none_found) for end in ends]
    static, final = ends
    final.save(snakemake.output.direction)
    for name, end in {"static": static, "final": final}.items():
        ntf_predictions(problem, test, end.theta).save(snakemake.output[name])
