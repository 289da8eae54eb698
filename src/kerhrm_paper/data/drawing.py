"""What generators share.

Replicates, a random stream for every environment, the matrix H.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from pydantic import AfterValidator

from kerhrm.randomness import stream
from kerhrm_paper.data.dataset import Split

Scramble = Literal["fixed", "per_seed", "identity"]
#: (random, seed, and what an environment has) to its points x (n, d), y (n,) and, where
#: there is an auxiliary variable, z (n, c)
Draw = Callable[..., tuple[np.ndarray, ...]]


def named_by(form: str) -> AfterValidator:
    """Refuse test environments that share a name, a number in a format as ``.2f``."""

    def check(numbers: list[float]) -> list[float]:
        names = [format(number, form) for number in numbers]
        if len(set(names)) < len(names):
            raise ValueError(
                f"two environments are called {max(names, key=names.count)}; "
                "let their numbers differ more"
            )
        return numbers

    return AfterValidator(check)


def draw_parts(
    draw: Draw, seeds: Sequence[int], parts: Mapping[str, Sequence[tuple[Any, ...]]]
) -> Any:
    """Draw every part of a data set, its environments one after another, as a dict of
    Splits.

    ``parts`` has what ``draw`` is given for each environment of a part.  Each part and
    environment of a seed has a random stream of its own, so that the size of one shifts
    no point of another.
    """

    def replicate(seed: int, part: str) -> Split:
        drawn = [
            draw(stream(seed, "data", part, str(e)), seed, *own)
            for e, own in enumerate(parts[part])
        ]
        x, y, *z = (np.concatenate(arrays) for arrays in zip(*drawn, strict=True))
        return Split(
            x, y, np.repeat(np.arange(len(drawn)), [len(d[1]) for d in drawn]), *z
        )

    return {part: stack([replicate(seed, part) for seed in seeds]) for part in parts}


def stack(splits: Sequence[Split]) -> Split:
    """Replicates of equal size, one Split each, stacked."""

    def stacked(name: str, dtype: type) -> Any:
        arrays = [getattr(split, name) for split in splits]
        return None if arrays[0] is None else np.stack(arrays).astype(dtype)

    x, y, auxiliary = (stacked(name, np.float32) for name in ("x", "y", "auxiliary"))
    return Split(x, y, stacked("environment", np.int8), auxiliary)


def mixing_matrix(scramble: Scramble, d: int, seed: int) -> np.ndarray:
    """H (d, d), orthogonal, float64, which mixes rows as x = [s, v] H^T.

    ``fixed``: the matrix of the released code; ``per_seed``: uniform (Haar measure).
    """
    if scramble == "identity":
        return np.eye(d)
    if scramble == "fixed":
        # The released code multiplies rows by the drawn matrix, so H is its transpose.
        return _orthogonal(np.random.RandomState(1).normal(size=(d, d))).T
    return _orthogonal(stream(seed, "data", "scramble").normal(size=(d, d)))


def _orthogonal(normal: np.ndarray) -> np.ndarray:
    """Haar-distributed matrix of normal numbers (d, d), their QR's with a positive
    diagonal of R.

    Mezzadri, How to generate random matrices from the classical compact groups, 2007;
    the same as ``scipy.stats.ortho_group``, whose import takes longer than all else of
    a small run.
    """
    q, r = np.linalg.qr(normal)
    return q * np.sign(np.diagonal(r))
