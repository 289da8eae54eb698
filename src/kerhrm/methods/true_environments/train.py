"""KerHRM with the true environments given: what M_p is worth without M_c's errors.

They choose k and alpha, too: by the worst *true* environment.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.options import KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments


def train_true_environments(
    problem: Problem, options: KerHRM, environments: tuple[Tensor, Tensor] | None
) -> Tensor:
    """Directions theta (B, k_max) of one M_p step with ``options.k`` and ``options.invariance``.

    ``environments`` are labels 0, 1, ... of the training (B, n) and validation points (B, m).
    """
    assert environments is not None
    given = true_environments(problem, options.k, *environments)
    with torch.inference_mode():
        return learn_directions(problem, [given], options.invariance).winner.theta


def true_environments(
    problem: Problem, k: Sequence[int], train: Tensor, validation: Tensor
) -> Environments:
    """The true environments, int64, as learned ones for G candidate dimensions ``k``.

    Fields are (B, G, ...); what only a clustering has is zero.
    """
    n_environments = int(train.max()) + 1
    sizes = torch.tensor(list(k), device=problem.y.device).expand(len(problem.y), -1)

    def memberships(environment: Tensor) -> Tensor:
        hard = torch.nn.functional.one_hot(environment, n_environments).double()
        return hard.unsqueeze(1).expand(-1, len(k), -1, -1)

    nothing = torch.zeros_like(sizes, dtype=problem.y.dtype)
    none = torch.zeros_like(sizes)
    return Environments(
        k=sizes,
        train=memberships(train),
        validation=memberships(validation),
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
