"""Algorithm 1 of the paper: environments and invariant directions by turns.

    theta_0 = 0
    for t = 1, ..., T:
        environments_t  from Psi without theta_(t-1)          M_c, :func:`learn_environments`
        theta_t         invariant over environments_t         M_p, :func:`learn_directions`

The network of step 3 (:mod:`kerhrm.algorithm.network`) is trained along the final direction;
no iteration depends on it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.exploration import learn_environments
from kerhrm.algorithm.options import KerHRM
from kerhrm.algorithm.prediction import FinalDirection, finish
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments


@dataclass(frozen=True)
class Fit:
    """What Algorithm 1 leaves.

    Attributes
    ----------
    learned, history : sequences of length T
        Environments and directions of iterations 1, ..., T.
    final : FinalDirection
        Of the iteration that scores best; it predicts new points.
    """

    learned: Sequence[Environments]
    history: Sequence[Directions]
    final: FinalDirection


def iterate(
    problem: Problem, options: KerHRM, inputs: tuple[Tensor, Tensor] | None = None
) -> Iterator[tuple[Environments, Directions]]:
    """Algorithm 1: what iterations t = 1, ..., T leave, one after the other.

    ``inputs`` are x of the training and validation points, (B, n, d) and (B, m, d), for options
    that take the first kernel from them.
    """
    learned: list[Environments] = []
    history: list[Directions] = []
    for t in range(1, options.iterations + 1):
        last, begin = history[-1] if history else None, learned[-1] if learned else None
        learned.append(
            learn_environments(
                problem, options, t, last, begin, earlier=history[:-1], inputs=inputs
            )
        )
        history.append(learn_directions(problem, learned, options.invariance, options.selection))
        yield learned[-1], history[-1]


def fit(problem: Problem, options: KerHRM, inputs: tuple[Tensor, Tensor] | None = None) -> Fit:
    """Algorithm 1 to its end, and the choice of T; errors as :func:`learn_environments`."""
    learned, history = zip(*iterate(problem, options, inputs), strict=True)
    final = finish(problem, learned, history, options.selection, options.end)
    return Fit(learned, history, final)
