"""The steps of one iteration of Algorithm 1, replicate by replicate.

``files`` and ``params`` are those of the rules: environments and directions of the
iterations before, and the learner, whose options are KerHRM's.
"""

from functools import partial
from typing import Any

import torch

from kerhrm.algorithm.environments import learn_environments
from kerhrm.algorithm.invariance import learn_directions
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Environments, Problem
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
    environments = [load_records(Environments, f, device) for f in files.environments]
    directions = [load_records(Directions, f, device) for f in files.directions]
    points = [load_arrays(file)[0]["x"] for file in (files.train, files.validation)]

    def learn(s: int) -> Result:
        before = [one[s] for one in environments], [one[s] for one in directions]
        x, x_validation = (torch.from_numpy(part[s]).to(device) for part in points)
        inputs = x, x_validation
        return learn_environments(problems[s], options, t, *before, inputs).arrays()

    units = [
        checkpoint.once(f"seed={s}", partial(learn, s))
        for s in range(params.learner["n_seeds"])
    ]
    save_stacked(output, units)


def write_directions(
    files: Any, params: Any, device: torch.device, output: str
) -> None:
    """M_p over the environments of all iterations so far."""
    options = KerHRMOptions(**params.learner["options"])
    environments = [load_records(Environments, f, device) for f in files.environments]
    problems = load_records(Problem, files.features, device)
    directions = [
        learn_directions(problems[s], list(learned), options).arrays()
        for s, learned in enumerate(zip(*environments, strict=True))
    ]
    save_stacked(output, directions)
