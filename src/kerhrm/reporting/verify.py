"""Whether a fresh run gives what a stored one gave, cell by cell."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.files import read
from kerhrm.config.presets import DEVELOPMENT
from kerhrm.errors import KerhrmError
from kerhrm.reporting.tables import read_table
from kerhrm.scoring.verdicts import CRITERIA, ROUNDING

KEYS = ["table", "setting", "method", "metric", "selection"]
#: departures that an error lists before it only counts
LISTED = 20

#: committed runs, below the folder of the reference; the first is the one that is published
RUNS = (".", "development")

Cell = Mapping[str, Any]


def committed(reference: Path, preset: str) -> Path:
    """Folder with the committed tables of a preset's seeds.

    Raises
    ------
    KerhrmError
        If no run at that preset is committed; it names those that are.
    """
    presets: dict[str, Path] = {}
    for folder in (reference / name for name in RUNS):
        if (folder / "config.yaml").exists():
            made = read(folder / "config.yaml").content.get("preset", DEVELOPMENT)
            presets.setdefault(made, folder / "tables")
    if preset not in presets:
        known = f"verify one at {' or '.join(presets)}" if presets else "publish one first"
        raise KerhrmError(f"{reference} has no run at preset {preset}", known)
    return presets[preset]


def compare(fresh: pd.DataFrame, reference: pd.DataFrame) -> list[str]:
    """Every cell of a run that departs from the stored one, and how.

    A mean agrees if it lies in the stored 95 % interval.  Where the interval is a point (a
    single seed, a closed form) it may be off by half of the margin of
    :data:`kerhrm.scoring.verdicts.CRITERIA`.  A cell that failed agrees with one that
    failed.  Cells that are missing, are new or come from other data depart, too.
    """
    new, old = _by_cell(fresh), _by_cell(reference)
    problems = {cell: _problem(new.get(cell), before) for cell, before in old.items()}
    problems |= {cell: "new" for cell in new if cell not in old}
    return [f"{' | '.join(cell)}: {problem}" for cell, problem in problems.items() if problem]


def verify(fresh: Sequence[str | Path], reference: Sequence[str | Path]) -> int:
    """Give the number of cells of the reference, all of which a fresh run agrees with.

    Both are the paths of tables as CSV.

    Raises
    ------
    KerhrmError
        If cells depart; it names the first :data:`LISTED`, one a line.
    """
    stored = read_table(*reference)
    departures = compare(read_table(*fresh), stored)
    if departures:
        run, other = Path(fresh[0]).parents[1], Path(reference[0]).parents[1]
        lines = [f"{run} departs from {other} in {len(departures)} places:", *departures[:LISTED]]
        if len(departures) > LISTED:
            lines.append(f"and {len(departures) - LISTED} more")
        raise KerhrmError("\n".join(lines))
    return len(stored)


def _by_cell(table: pd.DataFrame) -> dict[tuple[str, ...], Cell]:
    return {tuple(str(row[key]) for key in KEYS): row for row in table.to_dict("records")}


def _problem(now: Cell | None, before: Cell) -> str | None:
    if now is None:
        return "missing"
    if now["data_source"] != before["data_source"]:
        return f"from {now['data_source']}, and not from {before['data_source']}"
    was, failed = before["verdict"] == "failed", now["verdict"] == "failed"
    if failed:
        return None if was else f"failed: {now['reason']}"
    if was:
        return f"{now['mean']:.6g}, where the stored run failed"
    low, high = before["ci_low"], before["ci_high"]
    criterion = CRITERIA.get(before["metric"]) if low == high else None
    margin = ROUNDING + (criterion.margin(before["mean"]) / 2 if criterion else 0.0)
    if low - margin <= now["mean"] <= high + margin:
        return None
    return f"{now['mean']:.6g} is outside [{low - margin:.6g}, {high + margin:.6g}]" + (
        "" if now["verdict"] == before["verdict"] else f", now '{now['verdict']}'"
    )
