"""Whether a run gives what the published one gave, cell by cell."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.files import write_text
from kerhrm_paper.evaluation.tables import CRITERIA, FALLBACK
from kerhrm_paper.reporting.run import KEYS, Run
from kerhrm_paper.runs.arrays import reading

COLUMNS = ["table", *KEYS, "mean", "ci_low", "ci_high", "mean_new", "departs"]
#: of sums and differences of numbers such as .71 and .70
ROUNDING = 1e-9


class Verification(NamedTuple):
    """Published and new means side by side, and published tables that the run does not
    have.

    Column ``departs`` of the cells says how one departs, "" if it does not;
    ``departures`` are those that do, missing and new ones last.
    """

    cells: pd.DataFrame
    departures: pd.DataFrame
    absent: list[str]

    def __str__(self) -> str:
        """How many cells agree, and what was not compared."""
        agree = len(self.cells) - len(self.departures)
        text = "this machine agrees with the published run "
        text += f"in {agree} of {len(self.cells)} cells"
        gone = f"; not in this run: {', '.join(self.absent)}" if self.absent else ""
        return text + gone


def stored(reference: Path, preset: str) -> dict[str, Run]:
    """The published tables at a preset, each with the folder that holds it."""
    top, own = Run(reference), Run(reference / preset)
    found = {table: top for table in top.tables if top.preset(table) == preset}
    found |= dict.fromkeys(own.tables, own)
    if not found:
        known = {top.preset(table) for table in top.tables}
        known |= {path.parent.name for path in reference.glob("*/tables")}
        problem = f"{reference} has no tables at preset {preset}"
        raise KerhrmError(
            problem, f"it has {', '.join(sorted(known)) or 'none at all'}"
        )
    return found


def verify(run: Run, reference: Path) -> Verification:
    """Compare the tables of a run with those published at its preset.

    A mean agrees if it lies in the published 95 % interval.  Where there is none (a
    single seed, a closed form) it may be off by half of its metric's tolerance.  A cell
    that failed agrees with one that failed.  Cells that are missing, are new or come
    from other data depart; tables of stand-ins are not compared.

    Raises KerhrmError if nothing is published at that preset, or the run has none of
    those tables.
    """
    if run.folder.resolve().is_relative_to(reference.resolve()):
        problem = f"{run.folder} is published itself"
        raise KerhrmError(problem, "name the folder of a run, as results/fresh")
    published = stored(reference, run.preset())
    tables = [table for table in published if table in run.tables]
    if not tables:
        problem = f"{run.folder} has no table that is published"
        raise KerhrmError(
            problem, f"make one of {', '.join(published)} with snakemake first"
        )
    new = run.cells(*tables)
    replaced = set(new.loc[new["data_source"].str.startswith(FALLBACK), "table"])
    tables = [table for table in tables if table not in replaced]
    if not tables:
        problem = f"{run.folder} has only stand-ins for real data"
        raise KerhrmError(
            problem, "set KERHRM_RAW_DIR to a folder of raw files and run again"
        )
    old = pd.concat(
        [published[table].cells(table) for table in tables], ignore_index=True
    )
    both = compare(new[new["table"].isin(tables)], old)
    found = both[both["departs"] != ""]
    found = found.sort_values(
        "departs", key=lambda d: d.isin(["missing", "new"]), kind="stable"
    )
    absent = [f"{t} (stand-ins)" if t in replaced else t for t in published]
    return Verification(both, found, sorted(set(absent) - set(tables)))


def agreement(run: Run, reference: Path) -> tuple[str, list[str]]:
    """How a run compares with the published one, in a sentence, and each departure.

    The sentence says why, if nothing can be compared.
    """
    try:
        found = verify(run, reference)
    except KerhrmError as error:
        problem = error.problem.replace(str(reference), "results/reference")
        return f"not compared with the published run: {problem}", []
    lines = [
        f"{row.table} {row.setting} {row.method} {row.metric} ({row.selection}): "
        f"{row.departs}; here {row.mean_new:.4g}, published {row.mean:.4g}"
        for row in found.departures.itertuples()
    ]
    return str(found), lines


def check_output(path: Path, run: Run, reference: Path) -> None:
    """Refuse a file for :func:`save` that would take the place of another one.

    Raises KerhrmError if its folder is missing, it lies among the tables that are
    compared, or a file is there that no earlier call has written.
    """
    place, hint = path.resolve(), "name a new file elsewhere"
    if not place.parent.is_dir():
        problem = f"--csv: the folder {path.parent} does not exist"
        raise KerhrmError(problem, "make it first, or name another one")
    for folder in (run.folder / "tables", run.folder / "scores", reference):
        if place.is_relative_to(folder.resolve()):
            raise KerhrmError(f"--csv: {path} lies in {folder}, which is read", hint)
    if os.path.lexists(path) and not _is_ours(path):
        raise KerhrmError(f"--csv: {path} exists and holds something else", hint)


def _is_ours(path: Path) -> bool:
    """Whether :func:`save` has written a file."""
    header = f"{','.join(COLUMNS)}\n".encode()
    if path.is_symlink() or not path.is_file():
        return False
    with reading(path), open(path, "rb") as file:
        return file.read(len(header)) == header


def save(found: Verification, path: Path) -> None:
    """Write all cells side by side."""
    write_text(path, found.cells.to_csv(index=False, float_format="%.6g"))


def compare(new: pd.DataFrame, old: pd.DataFrame) -> pd.DataFrame:
    """The cells of two sets of tables side by side, see :class:`Verification`."""
    keys = ["table", *KEYS]
    both = old.merge(
        new, on=keys, how="outer", suffixes=("_old", "_new"), indicator="found"
    )
    both["departs"] = [_problem(row) for row in both.to_dict("records")]
    return both.rename(columns=lambda name: name.removesuffix("_old"))[COLUMNS]


def _problem(row: Mapping[Any, Any]) -> str:
    """How a cell departs; empty: it does not."""
    if row["found"] != "both":
        return "missing" if row["found"] == "left_only" else "new"
    if row["data_source_new"] != row["data_source_old"]:
        return f"from {row['data_source_new']}, not from {row['data_source_old']}"
    failed = [row[f"verdict_{which}"] == "failed" for which in ("new", "old")]
    if any(failed):
        return "" if all(failed) else ("failed" if failed[0] else "failed before")
    low, high, mean = (row[f"{name}_old"] for name in ("ci_low", "ci_high", "mean"))
    margin = ROUNDING
    if not low < high:  # NaN, too
        low = high = mean
        criterion = CRITERIA.get(row["metric"])
        margin += criterion.margin(mean) / 2 if criterion else 0.0
    return (
        ""
        if low - margin <= row["mean_new"] <= high + margin
        else "outside the interval"
    )
