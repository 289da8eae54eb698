"""How often the clustering met a degenerate optimum."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from kerhrm.storage.arrays import load_arrays

COLUMNS = [
    "setting", "iteration", "seed",
    "k", "n_starts", "n_label_split", "n_empty", "n_unconverged",
    "ridge", "held_out", "label_information", "usable",
]  # fmt: skip


def restart_report(
    paths: Sequence[str | Path],
    searches: Sequence[tuple[str, int]],
    replicates: Sequence[str | int] | None = None,
) -> pd.DataFrame:
    """One row per setting, iteration, seed and candidate k.

    Parameters
    ----------
    paths : sequence of paths
        Files of :class:`kerhrm.algorithm.exploration.Environments`, (B, G) values each.
    searches : sequence of (setting, iteration), as long as ``paths``
        What each is a file of; settings with the same environments may share theirs.
    replicates : sequence, length B, optional
        What the scores call the seeds; by default 0, ..., B - 1.

    Returns
    -------
    DataFrame
        Numbers of starts by kind, the winner's ridge, held-out log-likelihood (nats per
        point) and label information, and whether any start was usable.
    """
    rows = []
    for path, search in zip(paths, searches, strict=True):
        arrays, _ = load_arrays(path)
        for row, g in np.ndindex(arrays["k"].shape):
            seed = row if replicates is None else replicates[row]
            values = [arrays[name][row, g].item() for name in COLUMNS[3:]]
            rows.append((*search, seed, *values))
    return pd.DataFrame(rows, columns=COLUMNS)


def restart_counts(
    reports: Mapping[str, pd.DataFrame],
    by: Sequence[str] = ("experiment", "setting", "iteration"),
) -> str:
    """How many starts of each kind, by experiment, setting and iteration, or fewer of these."""
    frames = [r.assign(experiment=name) for name, r in reports.items() if len(r)]
    if not frames:
        return "No method here clusters the data.\n"
    counts = (
        pd.concat(frames)
        .groupby(list(by), sort=False)
        .agg(
            starts=("n_starts", "sum"),
            label_splits=("n_label_split", "sum"),
            empty=("n_empty", "sum"),
            not_converged=("n_unconverged", "sum"),
            searches_without_a_usable_start=("usable", lambda usable: int((~usable).sum())),
        )
    )
    counts.columns = [c.replace("_", " ") for c in counts.columns]
    return counts.reset_index().to_markdown(index=False) + "\n"
