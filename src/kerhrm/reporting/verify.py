"""Whether a fresh run gives what a stored one gave, cell by cell."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.files import read
from kerhrm.config.presets import DEVELOPMENT
from kerhrm.errors import KerhrmError
from kerhrm.reporting.differences import KEYS, differences
from kerhrm.reporting.explain.cells import read_config
from kerhrm.reporting.freeze import WORDS, without_later
from kerhrm.reporting.readme import COMPARISONS
from kerhrm.reporting.tables import read_table
from kerhrm.scoring.verdicts import CRITERIA, ROUNDING
from kerhrm.storage.arrays import write_text

#: departures that an error lists before it only counts
LISTED = 20
#: kinds of departures, in the order in which they are told; all others are numbers
MISSING, NEW = "missing", "new"

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

    Where both runs have several seeds, p of :func:`kerhrm.reporting.differences.differences` is
    told, as if these had been drawn apart: rounding, which processors do differently, decides how
    some seeds end (``KerHRM (literal)``).
    """
    return _told(side_by_side(fresh, reference))


def side_by_side(fresh: pd.DataFrame, reference: pd.DataFrame) -> pd.DataFrame:
    """Differences of ``run`` and ``reference``, and how a cell ``departs``; empty: it does not."""
    both = differences(fresh, reference, ("run", "reference"))
    new, old = _by_cell(fresh), _by_cell(reference)
    both["departs"] = [
        _problem(new.get(cell), old.get(cell), row["p"]) for cell, row in _by_cell(both).items()
    ]
    return both


def _told(both: pd.DataFrame) -> list[str]:
    """A line for each cell that departs, missing and new ones last."""
    order = {MISSING: 1, NEW: 2}
    found = [(cell, row["departs"]) for cell, row in _by_cell(both).items() if row["departs"]]
    found.sort(key=lambda one: order.get(one[1], 0))
    return [f"{' | '.join(cell)}: {problem}" for cell, problem in found]


def verify(
    fresh: Sequence[str | Path],
    reference: Sequence[str | Path],
    listed: int | None = LISTED,
    csv: Path | None = None,
) -> int:
    """Give the number of cells of the reference, all of which a fresh run agrees with.

    Both are the paths of tables as CSV; ``csv``: where :func:`side_by_side` is written first.

    Raises
    ------
    KerhrmError
        If cells depart; it counts them by kind and names the first ``listed``, one a line, those
        outside of their interval before missing and new ones.  None: all of them.
    """
    stored = read_table(*reference)
    both = side_by_side(read_table(*fresh), stored)
    if csv is not None:
        write_text(csv, both.to_csv(index=False, float_format="%.6g"))
    departures = _told(both)
    if departures:
        run, other = Path(fresh[0]).parents[1], Path(reference[0]).parents[1]
        lines = [_headline(run, other, departures, len(stored)), *departures[:listed]]
        if listed is not None and len(departures) > listed:
            lines.append(f"and {len(departures) - listed} more: kerhrm verify {run} --all")
        raise KerhrmError("\n".join(lines))
    return len(stored)


def verify_run(
    run: Path, reference: Path, *, everything: bool = False, csv: Path | None = None
) -> tuple[int, Path]:
    """Compare a run with the committed one on its seeds: number of cells, and whose they are.

    ``csv``: where both runs' means are written side by side.

    Raises
    ------
    KerhrmError
        If nothing was committed at its preset, a table is missing, or cells depart; ``everything``
        names all of these.
    """
    if not (run / "config.yaml").exists():
        raise KerhrmError(f"there is no run in {run}", "run the workflow first")
    folder = committed(reference, str(read_config(run / "config.yaml")["preset"]))
    stored = [p for p in sorted(folder.glob("*.csv")) if not p.stem.endswith(COMPARISONS)]
    fresh = [run / "tables" / path.name for path in stored]
    if lost := [path.stem for path in fresh if not path.exists()]:
        raise KerhrmError(f"{run} has no {', '.join(lost)} yet", "run the workflow first")
    return verify(fresh, stored, None if everything else LISTED, csv), folder.parent


def _headline(run: Path, other: Path, departures: Sequence[str], cells: int) -> str:
    """How many cells depart, by kind, and whether that was to be expected."""
    n = len(departures)
    missing, new = (sum(d.endswith(f": {kind}") for d in departures) for kind in (MISSING, NEW))
    kinds = ((n - missing - new, "with another result"), (missing, MISSING), (new, NEW))
    counted = ", ".join(f"{number} {kind}" for number, kind in kinds if number)
    ours, theirs = _configured(run), _configured(other)
    changed = [name for name, one in theirs.items() if ours.get(name, one) != one]
    why = f"; configured otherwise: {', '.join(changed)}" if changed else ""
    return f"{run} departs from {other} in {n} places, of {cells} cells ({counted}{why}):"


def _configured(folder: Path) -> dict[str, Any]:
    """Experiments of a run without their texts, as far as they were written down.

    Nor with options that came later and change nothing.
    """
    path = folder / "config.yaml"
    experiments = read_config(path)["experiments"] if path.exists() else {}
    return {
        name: without_later({k: v for k, v in one.items() if k not in WORDS})
        for name, one in experiments.items()
    }


def _by_cell(table: pd.DataFrame) -> dict[tuple[str, ...], Cell]:
    return {tuple(str(row[key]) for key in KEYS): row for row in table.to_dict("records")}


def _problem(now: Cell | None, before: Cell | None, p: float) -> str:
    """How a cell departs, with ``p`` of no difference where it is known; empty: it does not."""
    if now is None:
        return MISSING
    if before is None:
        return NEW
    if now["data_source"] != before["data_source"]:
        return f"from {now['data_source']}, and not from {before['data_source']}"
    was, failed = before["verdict"] == "failed", now["verdict"] == "failed"
    if failed:
        return "" if was else f"failed: {now['reason']}"
    if was:
        return f"{now['mean']:.6g}, where the stored run failed"
    low, high = before["ci_low"], before["ci_high"]
    criterion = CRITERIA.get(before["metric"]) if low == high else None
    margin = ROUNDING + (criterion.margin(before["mean"]) / 2 if criterion else 0.0)
    if low - margin <= now["mean"] <= high + margin:
        return ""
    return (
        f"{now['mean']:.6g} is outside [{low - margin:.6g}, {high + margin:.6g}]"
        + (f", p = {p:.2g}" if p > 0 else "")  # 0: both are constants
        + ("" if now["verdict"] == before["verdict"] else f", now '{now['verdict']}'")
    )
