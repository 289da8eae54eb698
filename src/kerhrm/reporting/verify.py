"""Whether a fresh run gives what a stored one gave, cell by cell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.reporting.tables import read_table
from kerhrm.reporting.verdicts import CRITERIA, ROUNDING

KEYS = ["table", "setting", "method", "metric", "selection"]
#: departures that an error lists before it only counts
LISTED = 20


@dataclass(frozen=True)
class Departure:
    """A cell that is not what it was.

    Attributes
    ----------
    cell : tuple of str
        Table, setting, method, metric and selection rule; the table alone if all of it is
        missing or new.
    problem : str
    """

    cell: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        return f"{' | '.join(self.cell)}: {self.problem}"


def compare(fresh: str | Path, reference: str | Path) -> list[Departure]:
    """Hold every cell of a run against the stored one.

    A mean agrees if it lies in the stored 95 % interval.  Where the interval is a point (a
    single seed, a closed form) it may be off by the tolerance of
    :data:`kerhrm.reporting.verdicts.CRITERIA`.  A cell that failed agrees with one that
    failed.

    Parameters
    ----------
    fresh, reference : path
        Folders with ``tables/*.csv``.

    Returns
    -------
    list of Departure
        Means that left, cells that failed, are missing, are new, or come from other data;
        empty where the runs agree.

    Raises
    ------
    KerhrmError
        If a folder has no tables.
    """
    new, old = _tables(fresh), _tables(reference)
    departures = [Departure((name,), "missing") for name in old if name not in new]
    departures += [Departure((name,), "new") for name in new if name not in old]
    for name in old:
        if name in new:
            departures += _compare_cells(_cells(new[name]), _cells(old[name]))
    return departures


def verify(fresh: str | Path, reference: str | Path) -> int:
    """Give the number of cells of the reference, all of which a fresh run agrees with.

    Raises
    ------
    KerhrmError
        If cells depart; it names the first :data:`LISTED`, one a line.
    """
    departures = compare(fresh, reference)
    if departures:
        lines = [str(departure) for departure in departures[:LISTED]]
        if len(departures) > LISTED:
            lines.append(f"and {len(departures) - LISTED} more")
        raise KerhrmError(
            "\n".join([f"{fresh} departs from {reference} in {len(departures)} places:", *lines])
        )
    return sum(len(table) for table in _tables(reference).values())


def _tables(folder: str | Path) -> dict[str, pd.DataFrame]:
    paths = sorted(Path(folder).glob("tables/*.csv"))
    if not paths:
        raise KerhrmError(f"{folder} has no tables/*.csv", "run the rule that makes them")
    return {path.stem: read_table(path) for path in paths}


def _cells(table: pd.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    return {tuple(str(row[key]) for key in KEYS): row for row in table.to_dict("records")}


def _compare_cells(
    new: Mapping[tuple[str, ...], Mapping[str, Any]],
    old: Mapping[tuple[str, ...], Mapping[str, Any]],
) -> Iterator[Departure]:
    for cell, before in old.items():
        problem = _problem(new[cell], before) if cell in new else "missing"
        if problem:
            yield Departure(cell, problem)
    for cell in new:
        if cell not in old:
            yield Departure(cell, "new")


def _problem(now: Mapping[str, Any], before: Mapping[str, Any]) -> str | None:
    if now["data_source"] != before["data_source"]:
        return f"from {now['data_source']}, and not from {before['data_source']}"
    was, failed = before["verdict"] == "failed", now["verdict"] == "failed"
    if was and failed:
        return None
    if failed:
        return f"failed: {now['reason']}"
    if was:
        return f"{now['mean']:.6g}, where the stored run failed"
    low, high = before["ci_low"], before["ci_high"]
    margin = CRITERIA[before["metric"]].margin(before["mean"]) if low == high else 0.0
    if low - margin - ROUNDING <= now["mean"] <= high + margin + ROUNDING:
        return None
    return f"{now['mean']:.6g} is outside [{low - margin:.6g}, {high + margin:.6g}]" + (
        "" if now["verdict"] == before["verdict"] else f", now '{now['verdict']}'"
    )
