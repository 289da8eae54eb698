"""What generators share.

Replicates, a random stream for every environment, the matrix H.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import AfterValidator

from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream
from kerhrm_paper.data.draws import Split

Scramble = Literal["fixed", "per_seed", "identity"]
#: (random, seed, and what an environment has) to its points x (n, d), y (n,) and, where
#: there is an auxiliary variable, z (n, c)
DrawPoints = Callable[..., tuple[np.ndarray, ...]]
#: what ``DrawPoints`` is given for one environment, after the stream and the seed
Arguments = tuple[Any, ...]


def named_by(form: str) -> AfterValidator:
    """Refuse test environments that share a name, a number in a format as ``.2f``."""

    def check(numbers: list[float]) -> list[float]:
        names = [format(number, form) for number in numbers]
        distinct = set(names)
        if len(distinct) < len(names):
            twice = max(names, key=names.count)
            problem = f"two environments are called {twice}"
            raise ValueError(f"{problem}; let their numbers differ more")
        return numbers

    return AfterValidator(check)


def draw_parts(
    draw: DrawPoints, seeds: Sequence[int], parts: Mapping[str, Sequence[Arguments]]
) -> Any:
    """Draw every part of a data set, its environments one after another.

    Each part and environment of a seed has a random stream of its own, so that the size
    of one shifts no point of another.

    Parameters
    ----------
    draw : callable
        Draws the points of one environment.
    seeds : sequence of int
        One for each replicate.
    parts : mapping of str to sequence of tuple
        What ``draw`` is given for each environment of a part.

    Returns
    -------
    dict of str to Split
        By part, keyword arguments of :class:`~kerhrm_paper.data.draws.Draws`.
    """
    drawn = {}
    for part, environments in parts.items():
        replicates = []
        for seed in seeds:
            replicate = _replicate(draw, seed, part, environments)
            replicates.append(replicate)
        drawn[part] = stack(replicates)
    return drawn


def _replicate(
    draw: DrawPoints, seed: int, part: str, environments: Sequence[Arguments]
) -> Split:
    """A part of one replicate, (n, ...)."""
    points = []
    for number, arguments in enumerate(environments):
        random = stream(seed, "data", part, str(number))
        of_environment = draw(random, seed, *arguments)
        _check_points(draw, of_environment)
        points.append(of_environment)
    by_array = zip(*points, strict=True)
    joined = [np.concatenate(arrays) for arrays in by_array]
    x, y, *auxiliary = joined
    sizes = [len(labels) for _, labels, *_ in points]
    numbers = np.arange(len(points))
    environment = np.repeat(numbers, sizes)
    return Split(x, y, environment, *auxiliary)


def _check_points(draw: DrawPoints, points: Any) -> None:
    """Refuse what is not two or three arrays of real numbers."""
    name = getattr(draw, "__name__", type(draw).__name__)
    if not isinstance(points, tuple | list) or len(points) not in (2, 3):
        got = type(points).__name__
        if isinstance(points, tuple | list):
            got = f"{len(points)} arrays"
        problem = f"{name} must return x and y, and z where there is one; got {got}"
        raise KerhrmError(problem, "return x, y")
    if any(np.iscomplexobj(array) for array in points):
        problem = f"{name} must return real numbers; got complex ones"
        raise KerhrmError(problem, "return their real part, or columns for both")


def stack(splits: Sequence[Split]) -> Split:
    """Stack replicates of equal size, one Split each."""
    auxiliary = None
    if splits[0].auxiliary is not None:
        auxiliary = _stacked(splits, "auxiliary", np.float32)
    numbers = [split.environment.max(initial=0) for split in splits]
    is_small = max(numbers) <= np.iinfo(np.int8).max
    return Split(
        x=_stacked(splits, "x", np.float32),
        y=_stacked(splits, "y", np.float32),
        environment=_stacked(splits, "environment", np.int8 if is_small else np.int32),
        auxiliary=auxiliary,
    )


def _stacked(splits: Sequence[Split], name: str, dtype: type) -> np.ndarray:
    arrays = [getattr(split, name) for split in splits]
    stacked = np.stack(arrays)
    return stacked.astype(dtype)


def mixing_matrix(scramble: Scramble, d: int, seed: int) -> np.ndarray:
    """H (d, d), orthogonal, float64, which mixes rows as x = [s, v] H^T.

    ``fixed``: the matrix of the released code; ``per_seed``: uniform (Haar measure).
    """
    if scramble == "identity":
        return np.eye(d)
    if scramble == "fixed":
        # The released code multiplies rows by the drawn matrix, so H is its transpose.
        released = np.random.RandomState(1)
        normal = released.normal(size=(d, d))
        return _orthogonal(normal).T
    random = stream(seed, "data", "scramble")
    normal = random.normal(size=(d, d))
    return _orthogonal(normal)


def _orthogonal(normal: np.ndarray) -> np.ndarray:
    """Haar-distributed matrix of normal numbers (d, d), their QR's with a positive
    diagonal of R.

    Mezzadri, How to generate random matrices from the classical compact groups, 2007;
    the same as ``scipy.stats.ortho_group``, whose import takes longer than all else of
    a small run.
    """
    q, r = np.linalg.qr(normal)
    diagonal = np.diagonal(r)
    signs = np.sign(diagonal)
    return q * signs
