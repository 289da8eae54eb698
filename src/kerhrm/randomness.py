"""Named, independent random streams.

Every random number of the project comes from a stream that is derived, by
SHA-256, from a seed and a name such as ``"data"`` or ``"weights"``.  Adding a
stream therefore shifts no other one, and because all streams are drawn on the
CPU, moving the computation to a GPU shifts none either.
"""

import hashlib

import numpy as np


def entropy(seed: int, *name: str) -> int:
    """128 bits that depend on ``seed`` and ``name`` alone (and on no library version).

    Raises ValueError if a word of the name contains a slash.
    """
    if any("/" in word for word in name):
        raise ValueError(f"a stream's name has a '/': {name}")
    path = "/".join([str(int(seed)), *name])
    digest = hashlib.sha256(path.encode()).digest()
    return int.from_bytes(digest[:16], "big")


def stream(seed: int, *name: str) -> np.random.Generator:
    """PCG64 seeded with the first 128 bits of ``SHA-256("<seed>/<name>")``.

    The name says what the numbers are for, for example ``"clustering", "k=15"``.
    """
    bits = np.random.PCG64(entropy(seed, *name))
    return np.random.Generator(bits)


def some_of(random: np.random.Generator, n: int, most: int) -> np.ndarray:
    """Numbers of some of n things, rising, int64: of all if they are no more than
    ``most``, else of so many."""
    if n <= most:
        return np.arange(n, dtype=np.int64)
    drawn = random.choice(n, most, replace=False)
    return np.sort(drawn)


def drawn_landmarks(seed: int, n: int, m: int) -> np.ndarray:
    """Numbers (m,) of the landmarks among n points, int64, in the order of the draw."""
    random = stream(seed, "landmarks")
    return random.choice(n, m, replace=False)
