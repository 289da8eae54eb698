"""Extract the reduced features of some data, replicate by replicate."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from kerhrm.algorithm.records import Problem
from kerhrm.features.map import NTFMap
from kerhrm.features.nystroem import NystroemMap
from kerhrm_paper.runs.arrays import save_stacked
from kerhrm_paper.runs.checkpoints import Checkpoint, Result
from kerhrm_paper.runs.replicates import Replicates
from kerhrm_paper.runs.replication import Replication

TEST = "test/"  #: in front of the names of arrays of test points


def extract_features(
    files: Any,
    data: Mapping[str, Any],
    device: torch.device,
    outputs: Any,
    checkpoint: Checkpoint,
) -> None:
    """Write the features of the training points, and apart those of the test points.

    ``files`` are those of points, ``outputs`` are called ``training`` and ``test``;
    ``data`` is of :meth:`Replication.params`.
    """
    of = Replication.load(data)
    replicates = Replicates(files, of, device)
    units = [
        checkpoint.once(f"seed={s}", partial(_features, replicates, s))
        for s in range(len(of.seeds))
    ]
    of_test = [
        {n.removeprefix(TEST): a for n, a in unit.items() if n.startswith(TEST)}
        for unit in units
    ]
    of_training = [
        {n: a for n, a in unit.items() if not n.startswith(TEST)} for unit in units
    ]
    save_stacked(outputs.training, of_training)
    save_stacked(outputs.test, of_test)


def _features(replicates: Replicates, s: int) -> Result:
    """A Problem's arrays, and psi and f_0 of the test points."""
    of = replicates.of
    x, options = replicates.read("train", s), of.features
    network, landmarks = replicates.network(s, x.shape[-1]), options.landmarks
    found: NTFMap | NystroemMap
    if landmarks is None:
        found = NTFMap.fit(network, x, options.k)
    else:
        seed = of.seeds.network[s]
        found = NystroemMap.fit(network, x, options.k, landmarks, seed)
    problem = Problem.from_features(
        found,
        replicates.read("validation", s),
        replicates.read("train", s, "y"),
        replicates.read("validation", s, "y"),
        of.task,
        of.seeds.clustering[s],
    )
    psi, f0 = found.transform(replicates.read("test_inputs", s))
    arrays = {"psi": psi.cpu().numpy(), "f0": f0.cpu().numpy()}
    return problem.arrays() | {f"{TEST}{name}": a for name, a in arrays.items()}
