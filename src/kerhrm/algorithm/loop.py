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
    """Run Algorithm 1: what iterations t = 1, ..., T leave, one after the other.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels of B data sets.
    options : KerHRM
        All there is to tell the algorithm.
    inputs : two Tensors, (B, n, d) and (B, m, d), optional
        Training and validation points x, for options that take the first kernel from them.

    Yields
    ------
    Environments, Directions
        Of iteration t.

    Raises
    ------
    KerhrmError
        As :func:`~kerhrm.algorithm.exploration.learn_environments`.

    Examples
    --------
    The first two of four features have opposite coefficients in two halves of the rows.

    >>> import torch
    >>> from kerhrm import KerHRM, Problem, iterate
    >>> draw = torch.Generator().manual_seed(0)
    >>> psi = torch.randn(1, 300, 4, generator=draw, dtype=torch.float64)
    >>> sign = torch.where(torch.arange(300) % 2 == 0, 1.0, -1.0)
    >>> y = psi[..., 2] + 2 * sign * (psi[..., 0] - psi[..., 1])
    >>> zeros = torch.zeros_like(y)
    >>> u, s, v = torch.linalg.svd(psi[:, :200], full_matrices=False)
    >>> problem = Problem(
    ...     u, s, psi[:, 200:] @ v.mT, zeros[:, :200], zeros[:, 200:], y[:, :200], y[:, 200:],
    ...     "regression", [0],
    ... )
    >>> for learned, directions in iterate(problem, KerHRM(k=[4], iterations=2)):
    ...     print(learned.train.shape, directions.winner.theta.shape)
    torch.Size([1, 1, 200, 2]) torch.Size([1, 4])
    torch.Size([1, 1, 200, 2]) torch.Size([1, 4])
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
    """Run Algorithm 1 to its end, and choose T.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels of B data sets.
    options : KerHRM
        All there is to tell the algorithm.
    inputs : two Tensors, (B, n, d) and (B, m, d), optional
        Training and validation points x, for options that take the first kernel from them.

    Returns
    -------
    Fit
        Environments and directions of every iteration, and the direction that predicts.

    Raises
    ------
    KerhrmError
        As :func:`~kerhrm.algorithm.exploration.learn_environments`.

    Examples
    --------
    From points to predictions, with a small network:

    >>> import torch
    >>> from kerhrm import KerHRM, NetworkOptions, NTFMap, Problem, build, fit
    >>> draw = torch.Generator().manual_seed(0)
    >>> x = torch.randn(1, 300, 3, generator=draw)
    >>> slope = torch.where(torch.rand(1, 300, generator=draw) < 0.3, -2.0, 2.0)
    >>> y = (x[..., 0] + slope * x[..., 1]).double()
    >>> features = NTFMap.fit(build(NetworkOptions(widths=[64]), [0], 3), x[:, :200], k=5)
    >>> psi, f0 = features.transform(x[:, 200:])
    >>> problem = Problem(
    ...     features.reduction.u, features.reduction.s, psi, features.f0, f0,
    ...     y[:, :200], y[:, 200:], "regression", [0],
    ... )
    >>> found = fit(problem, KerHRM(k=[5], iterations=2))
    >>> len(found.history), found.final.predict(psi, f0).shape
    (2, torch.Size([1, 100]))
    """
    learned, history = zip(*iterate(problem, options, inputs), strict=True)
    final = finish(problem, learned, history, options.selection, options.end)
    return Fit(learned, history, final)
