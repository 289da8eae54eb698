"""Extract the reduced features of some data, replicate by replicate."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from kerhrm.algorithm.problem import Problem
from kerhrm.features.map import BY_LANDMARKS, NTFMap, require_kernel
from kerhrm.features.nystroem import NystroemMap
from kerhrm.memory import keeping, require
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

    Parameters
    ----------
    files : mapping of str to str
        Files of points by their names in the rule.
    data : mapping
        Of :meth:`Replication.params`.
    device : torch.device
        Where the network computes.
    outputs : object
        Files that are written, ``training`` and ``test``.
    checkpoint : Checkpoint
        Has the replicates that are done.
    """
    replication = Replication.load(data)
    replicates = Replicates(files, replication, device)
    n_seeds = len(replication.seeds)
    checkpoint.expect(n_seeds)
    of_each = _require_features(replicates)
    with keeping(replicates.size + (n_seeds - 1) * of_each):
        compute = partial(_features, replicates)
        features = checkpoint.each_seed(n_seeds, compute)
    parted = [_parted(of_seed) for of_seed in features]
    save_stacked(outputs.training, [training for training, _ in parted])
    save_stacked(outputs.test, [test for _, test in parted])


def _require_features(replicates: Replicates) -> int:
    """Bytes of the features of one replicate; refuse those that memory does not hold.

    All replicates' features stand next to those of the training and validation points
    in one array, as they are written.
    """
    options = replicates.data.features
    x = replicates.read("train", 0)
    x_validation = replicates.read("validation", 0)
    x_test = replicates.read("test_inputs", 0)
    number = 4
    if options.landmarks is None:
        number = 8
        for points in (x_validation, x_test):
            require_kernel(points, x, BY_LANDMARKS)
    n_written = len(x) + len(x_validation)
    n = n_written + len(x_test)
    n_seeds = len(replicates.data.seeds)
    row = number * options.k
    n_bytes = replicates.size + n_seeds * row * (n + n_written)
    what = f"the features of {n_seeds} times {n} points with k={options.k}"
    hint = "use fewer points, replicates or features (features.k of data), "
    hint += "or a machine with more memory"
    require(n_bytes, what, hint)
    return row * n


def _parted(features: Result) -> tuple[Result, Result]:
    """Arrays of the training points, and those of the test points."""
    training, test = {}, {}
    for name, array in features.items():
        if name.startswith(TEST):
            test[name.removeprefix(TEST)] = array
        else:
            training[name] = array
    return training, test


def _features(replicates: Replicates, s: int) -> Result:
    """A Problem's arrays, and psi and f_0 of the test points."""
    data = replicates.data
    x = replicates.read("train", s)
    _, d = x.shape
    network = replicates.network(s, d)
    n_landmarks = data.features.landmarks
    features: NTFMap | NystroemMap
    if n_landmarks is None:
        features = NTFMap.fit(network, x, data.features.k)
    else:
        seed = data.seeds.network[s]
        features = NystroemMap.fit(network, x, data.features.k, n_landmarks, seed)
    problem = Problem.from_features(
        features,
        replicates.read("validation", s),
        replicates.read("train", s, "y"),
        replicates.read("validation", s, "y"),
        data.task,
        data.seeds.clustering[s],
    )
    x_test = replicates.read("test_inputs", s)
    psi, f0 = features.transform(x_test)
    arrays = problem.arrays()
    arrays[f"{TEST}psi"] = psi.cpu().numpy()
    arrays[f"{TEST}f0"] = f0.cpu().numpy()
    return arrays
