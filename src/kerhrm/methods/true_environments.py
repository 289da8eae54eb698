"""KerHRM with the true environments given: what M_p is worth without M_c's errors.

They choose k and alpha, too: by the worst *true* environment.
"""

from collections.abc import Sequence
from os import PathLike

import torch
from torch import Tensor

from kerhrm.algorithm.exploration import Environments
from kerhrm.algorithm.problem import Problem
from kerhrm.arrays import load_arrays


def true_environments(
    problem: Problem, k: Sequence[int], path: str | PathLike[str]
) -> Environments:
    """The true environments in the form of learned ones.

    Parameters
    ----------
    problem : Problem
    k : sequence of int, length G
        Candidate dimensions.
    path : path
        The data set's file ``environments``.

    Returns
    -------
    Environments
        Fields (B, G, ...); what only a clustering has is zero.
    """
    labels, _ = load_arrays(path)
    n_environments = int(labels["train"].max()) + 1
    batch, sizes = len(problem.y), torch.tensor(list(k), device=problem.device)

    def memberships(part: str) -> Tensor:
        environment = torch.from_numpy(labels[part]).to(problem.device, torch.int64)
        hard = torch.nn.functional.one_hot(environment, n_environments).to(problem.y)
        return hard.unsqueeze(1).expand(-1, len(sizes), -1, -1)

    nothing = problem.y.new_zeros(batch, len(sizes))
    none = torch.zeros_like(nothing, dtype=torch.int64)
    return Environments(
        k=sizes.expand(batch, -1),
        train=memberships("train"),
        validation=memberships("validation"),
        ridge=nothing,
        held_out=nothing,
        objective=nothing,
        label_information=nothing,
        usable=torch.ones_like(nothing, dtype=torch.bool),
        n_starts=none,
        n_label_split=none,
        n_empty=none,
        n_unconverged=none,
    )
