"""What KerHRM has chosen in every seed: whether there is anything, k, alpha, iteration, lambda."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from kerhrm.storage.arrays import load_arrays

COLUMNS = ["setting", "seed", "k", "alpha", "iteration", "lambda", "p"]


def choice_report(
    directions: Sequence[str | Path],
    networks: Mapping[str, str | Path],
    tests: Mapping[str, str | Path],
    settings: Sequence[str],
    replicates: Sequence[str | int],
) -> pd.DataFrame:
    """One row per setting and seed, columns :data:`COLUMNS`.

    Parameters
    ----------
    directions : sequence of paths, as long as ``settings``
        Files of :class:`kerhrm.algorithm.prediction.FinalDirection`, (B, ...) values.
    networks : mapping
        By setting, where a network was trained, its predictions, whose facts have ``penalty``.
    tests : mapping
        By setting, where the data were tested for environments, files of
        :class:`kerhrm.heterogeneity.verdict.HeterogeneityTest`; iteration 0 is pooled ERM where
        none were found.
    replicates : sequence, length B
        What the scores call the seeds.
    """
    rows = []
    for path, setting in zip(directions, settings, strict=True):
        arrays, _ = load_arrays(path)
        penalties = p_values = [None] * len(replicates)
        if setting in networks:
            penalties = load_arrays(networks[setting])[1]["penalty"]
        if setting in tests:
            p_values = load_arrays(tests[setting])[0]["p_value"].tolist()
        chosen = (arrays[name].tolist() for name in ("k", "alpha", "iteration"))
        columns = replicates, *chosen, penalties, p_values
        rows += [(setting, *row) for row in zip(*columns, strict=True)]
    return pd.DataFrame(rows, columns=COLUMNS)


def choice_counts(reports: Mapping[str, pd.DataFrame]) -> str:
    """In how many seeds each value was chosen, by experiment and setting, as Markdown."""
    frames = [report.assign(experiment=name) for name, report in reports.items() if len(report)]
    if not frames:
        return "Nothing here is chosen by KerHRM's rule.\n"
    report = pd.concat(frames)
    lines = [
        {"experiment": experiment, "setting": setting}
        | {name: _counts(group[name].dropna()) for name in COLUMNS[2:-1]}
        | {"p of no environments": _range(group["p"].dropna())}
        for (experiment, setting), group in report.groupby(["experiment", "setting"], sort=False)
    ]
    return pd.DataFrame(lines).to_markdown(index=False) + "\n"


def _range(values: pd.Series) -> str:
    """``0.05 to 0.60``."""
    return f"{values.min():.2f} to {values.max():.2f}" if len(values) else ""


def _counts(values: pd.Series) -> str:
    """``0.1 (7), 1 (3)``: values in their order, and how often."""
    return ", ".join(f"{value:g} ({n})" for value, n in values.value_counts().sort_index().items())
