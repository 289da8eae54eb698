"""Reduced neural tangent features: the kernel's SVD, or of many points by way of
landmarks."""

import torch

from kerhrm.algorithm.records import Problem
from kerhrm.features.map import NTFMap
from kerhrm.features.nystroem import NystroemMap
from kerhrm.features.options import NystroemOptions
from kerhrm.networks.base import resolve_device
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.paper.runs.arrays import load_arrays, save_stacked
from kerhrm.paper.runs.job import job

with job(snakemake) as checkpoint, torch.inference_mode():
    params, device = snakemake.params, resolve_device(snakemake.params.device)
    train, validation, test = (load_arrays(file)[0] for file in snakemake.input)
    x, y, x_validation, y_validation, x_test = (
        torch.from_numpy(a).to(device)
        for a in (train["x"], train["y"], validation["x"], validation["y"], test["x"])
    )
    options = NetworkOptions(**params.network)

    def features(s, seed):
        network = build(options, seed, x.shape[-1]).to(device)
        if params.features is None:
            found = NTFMap.fit(network, x[s], params.k)
        else:
            landmarks = NystroemOptions(**params.features)
            found = NystroemMap.fit(network, x[s], params.k, landmarks, seed)
        labels = y[s], y_validation[s], params.task, params.seeds["clustering"][s]
        problem = Problem.from_features(found, x_validation[s], *labels)
        psi, f0 = (t.cpu().numpy() for t in found.transform(x_test[s]))
        return problem.arrays() | {"test/psi": psi, "test/f0": f0}

    units = [
        checkpoint.once(f"seed={s}", lambda s=s, seed=seed: features(s, seed))
        for s, seed in enumerate(params.seeds["network"])
    ]
    of_test = [
        {n[5:]: a for n, a in unit.items() if n.startswith("test/")} for unit in units
    ]
    of_training = [
        {n: a for n, a in unit.items() if not n.startswith("test/")} for unit in units
    ]
    save_stacked(snakemake.output.training, of_training)
    save_stacked(snakemake.output.test, of_test)
