"""The steps of one iteration of Algorithm 1, replicate by replicate.

``files`` and ``params`` are those of the rules: environments and directions of the
iterations before, and the learner, whose options are KerHRM's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.memory import keeping, size_of
from kerhrm_paper.runs.arrays import load_arrays, load_records, save_stacked
from kerhrm_paper.runs.checkpoints import Checkpoint, Result


def write_environments(
    files: Any,
    params: Any,
    t: int,
    device: torch.device,
    output: str,
    checkpoint: Checkpoint,
) -> None:
    """M_c of iteration t, by what the iterations before it have left."""
    options = KerHRMOptions(**params.learner["options"])
    problems = load_records(Problem, files.features, device)
    environments, directions = load_iterations(files, device)
    points: list[np.ndarray] = []
    if t == 1 and options.first_kernel == "inputs":  # nothing else reads the points
        train, _ = load_arrays(files.train)
        validation, _ = load_arrays(files.validation)
        points = [train["x"], validation["x"]]

    def learn(s: int) -> Result:
        inputs = None
        if points:
            x, x_validation = (torch.from_numpy(x[s]).to(device) for x in points)
            inputs = (x, x_validation)
        learned = learn_environments(
            problems[s],
            options,
            t,
            [of_seeds[s] for of_seeds in environments],
            [of_seeds[s] for of_seeds in directions],
            inputs,
        )
        return learned.arrays()

    n_seeds = params.learner["n_seeds"]
    checkpoint.expect(n_seeds)
    with keeping(size_of(points) + _others(problems)):
        units = checkpoint.each_seed(n_seeds, learn)
    save_stacked(output, units)


def write_directions(
    files: Any, params: Any, device: torch.device, output: str
) -> None:
    """M_p over the environments of all iterations so far."""
    options = KerHRMOptions(**params.learner["options"])
    problems = load_records(Problem, files.features, device)
    environments = []
    for file in files.environments:
        of_iteration = load_records(Environments, file, device)
        environments.append(of_iteration)
    units = []
    with keeping(_others(problems)):
        for s, of_iterations in enumerate(zip(*environments, strict=True)):
            problem = problems[s]
            of_seed = list(of_iterations)
            directions = learn_directions(problem, of_seed, options)
            units.append(directions.arrays())
    save_stacked(output, units)


def _others(problems: Sequence[Problem]) -> int:
    """Bytes of all problems but one, which are all alike."""
    return sum(size_of(vars(problem).values()) for problem in problems[1:])


def load_iterations(
    files: Any, device: torch.device
) -> tuple[list[list[Environments]], list[list[Directions]]]:
    """Environments and directions by iteration and seed."""
    environments = [
        load_records(Environments, file, device) for file in files.environments
    ]
    directions = [load_records(Directions, file, device) for file in files.directions]
    return environments, directions
