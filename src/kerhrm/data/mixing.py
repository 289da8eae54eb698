"""The orthogonal matrix H that mixes stable and spurious covariates."""

from typing import Literal

import numpy as np

from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

Scramble = Literal["fixed", "per_seed", "identity"]


def mixing_matrix(scramble: Scramble, d: int, seed: int) -> np.ndarray:
    """H (d, d), orthogonal, with rows x = [s, v] H^T.

    Parameters
    ----------
    scramble : "fixed", "per_seed" or "identity"
        The released code's matrix, one drawn uniformly (Haar measure) for the seed, or I.
    d : int
        Number of covariates.
    seed : int

    Returns
    -------
    ndarray, (d, d), float64

    Raises
    ------
    KerhrmError
        If ``scramble`` is none of these.
    """
    from scipy.stats import ortho_group  # half a second, which scoring need not spend

    if scramble == "identity":
        return np.eye(d)
    if scramble == "fixed":
        # The released code multiplies rows by the drawn matrix, so H is its transpose.
        return np.asarray(ortho_group.rvs(d, random_state=1)).T
    if scramble == "per_seed":
        return np.asarray(ortho_group.rvs(d, random_state=stream(seed, "data", "scramble")))
    raise KerhrmError(
        f"scramble={scramble!r} is unknown", 'choose one of "fixed", "per_seed", "identity"'
    )
