"""How often the clustering met a degenerate optimum."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kerhrm.arrays import load_arrays
from kerhrm.workflow.folders import setting_in

COUNTS = ("n_starts", "n_label_split", "n_empty", "n_unconverged")
FIGURES = ("ridge", "held_out", "label_information")


def restart_report(paths: Sequence[str | Path]) -> pd.DataFrame:
    """One row per setting, iteration, seed and candidate k.

    Parameters
    ----------
    paths : sequence of paths
        Files ``.../<setting>/iterations/<t>/environments.npz`` of
        :class:`kerhrm.algorithm.exploration.Environments`.

    Returns
    -------
    DataFrame
        Numbers of starts by kind, the winner's ridge, held-out log-likelihood (nats per
        point) and label information, and whether any start was usable.
    """
    rows = []
    for path in map(Path, paths):
        arrays, _ = load_arrays(path)
        for seed, g in np.ndindex(arrays["k"].shape):
            rows.append(
                {
                    "setting": setting_in(path.parts[-4]),
                    "iteration": int(path.parts[-2]),
                    "seed": seed,
                    "k": int(arrays["k"][seed, g]),
                }
                | {name: int(arrays[name][seed, g]) for name in COUNTS}
                | {name: float(arrays[name][seed, g]) for name in FIGURES}
                | {"usable": bool(arrays["usable"][seed, g])}
            )
    return pd.DataFrame(rows)
