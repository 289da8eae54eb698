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
#: of the counts
NAMES = {
    "n_starts": "starts",
    "n_label_split": "label splits",
    "n_empty": "empty",
    "n_unconverged": "not converged",
    "unusable": "searches without a usable start",
}


def restart_report(
    paths: Sequence[str | Path],
    searches: Sequence[tuple[str, int]],
    replicates: Sequence[str | int] | None = None,
) -> pd.DataFrame:
    """One row per setting, iteration, seed and candidate k.

    Columns are fields of :class:`kerhrm.algorithm.records.Environments`, (B, G) values a file.

    Parameters
    ----------
    searches : sequence of (setting, iteration), as long as ``paths``
        What each is a file of; settings with the same environments may share theirs.
    replicates : sequence, length B, optional
        What the scores call the seeds; by default 0, ..., B - 1.
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
    report = pd.concat(frames)
    report["unusable"] = ~report["usable"].astype(bool)
    counts = report.rename(columns=NAMES).groupby(list(by), sort=False)[list(NAMES.values())].sum()
    return counts.reset_index().to_markdown(index=False) + "\n"
