"""Whether a run gives what the published one gave, cell by cell."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.files import write_text
from kerhrm_paper.evaluation.tables import FALLBACK, METRICS
from kerhrm_paper.reporting.older_code import of_older_code
from kerhrm_paper.reporting.run import KEYS, Run
from kerhrm_paper.runs.arrays import reading

COLUMNS = ["table", *KEYS, "mean", "ci_low", "ci_high", "mean_new", "departs"]
#: of sums and differences of numbers such as .71 and .70
ROUNDING = 1e-9


class Verification(NamedTuple):
    """Published and new means side by side, and published tables that the run does not
    have.

    Column ``departs`` of the cells says how one departs, "" if it does not;
    ``departures`` are those that do, missing and new ones last.  ``changed`` says which
    published files have changed since they were published; ``older`` are tables of the
    run that were made by other code than today's.
    """

    cells: pd.DataFrame
    departures: pd.DataFrame
    absent: list[str]
    changed: list[str]
    older: list[str]

    def __str__(self) -> str:
        """How many cells agree, and what was not compared."""
        n_cells = len(self.cells)
        n_agree = n_cells - len(self.departures)
        sentence = "this machine agrees with the published run "
        sentence += f"in {n_agree} of {n_cells} cells"
        if self.absent:
            sentence += f"; not in this run: {', '.join(self.absent)}"
        if self.older:
            sentence += f"; of other code than now: {', '.join(self.older)}"
        return "; ".join([sentence, *self.changed])


def stored(reference: Path, preset: str) -> dict[str, Run]:
    """The published tables at a preset, each with the folder that holds it."""
    top = Run(reference)
    of_preset = Run(reference / preset)
    published = {}
    for table in top.tables:
        if top.preset(table) == preset:
            published[table] = top
    for table in of_preset.tables:
        published[table] = of_preset
    if not published:
        presets = {top.preset(table) for table in top.tables}
        for tables in reference.glob("*/tables"):
            presets.add(tables.parent.name)
        names = ", ".join(sorted(presets))
        known = names or "none at all"
        problem = f"{reference} has no tables at preset {preset}"
        hint = f"it has {known}"
        raise KerhrmError(problem, hint)
    return published


def verify(run: Run, reference: Path) -> Verification:
    """Compare the tables of a run with those published at its preset.

    A mean agrees if it lies in the published 95 % interval.  Where there is none (a
    single seed, a closed form) it may be off by half of its metric's tolerance.  A cell
    that failed agrees with one that failed.  Cells that are missing, are new or come
    from other data depart; tables of stand-ins are not compared.

    Raises KerhrmError if nothing is published at that preset, the run has none of those
    tables, or a file is damaged or has changed since it was made.
    """
    published = stored(reference, run.preset())
    published_folder = reference.resolve()
    own_folder = run.folder.resolve()
    if own_folder.is_relative_to(published_folder):
        problem = f"{run.folder} is published itself"
        raise KerhrmError(problem, "name the folder of a run, as results/fresh")
    made = [table for table in published if table in run.tables]
    if not made:
        problem = f"{run.folder} has no table that is published"
        names = ", ".join(published)
        hint = f"make one of {names} with snakemake first"
        raise KerhrmError(problem, hint)
    files = [f"tables/{table}.csv" for table in made]
    run.check_unchanged(*files)
    new = run.cells(*made)
    sources = new["data_source"]
    is_replaced = sources.str.startswith(FALLBACK)
    tables_replaced = new.loc[is_replaced, "table"]
    replaced = set(tables_replaced)
    compared = [table for table in made if table not in replaced]
    if not compared:
        problem = f"{run.folder} has only stand-ins for real data"
        hint = "set KERHRM_RAW_DIR to a folder of raw files and run again"
        raise KerhrmError(problem, hint)
    old = _published_cells(published, compared)
    is_compared = new["table"].isin(compared)
    new = new[is_compared]
    cells = compare_cells(new, old)
    departs = cells["departs"] != ""
    departures = cells[departs]
    departures = departures.sort_values("departs", key=_has_no_pair, kind="stable")
    absent = []
    for table in published:
        if table in replaced:
            absent.append(f"{table} (stand-ins)")
        elif table not in compared:
            absent.append(table)
    errors = _changed({table: published[table] for table in compared})
    if errors and departures.empty:
        raise errors[0]  # there is no agreement with what was published
    changed = [error.problem for error in errors]
    older = of_older_code(run, compared)
    return Verification(cells, departures, sorted(absent), changed, older)


def _published_cells(published: Mapping[str, Run], tables: list[str]) -> pd.DataFrame:
    """The cells of some published tables."""
    frames = []
    for table in tables:
        run_of_table = published[table]
        cells_of_table = run_of_table.cells(table)
        frames.append(cells_of_table)
    return pd.concat(frames, ignore_index=True)


def _changed(published: Mapping[str, Run]) -> list[KerhrmError]:
    """Errors of the tables that have changed since they were published."""
    errors = []
    for table, run_of_table in published.items():
        try:
            run_of_table.check_unchanged(f"tables/{table}.csv")
        except KerhrmError as error:
            errors.append(error)
    return errors


def _has_no_pair(departs: pd.Series) -> pd.Series:
    """Whether a cell is in one of two runs alone."""
    return departs.isin(["missing", "new"])


def agreement(run: Run, reference: Path) -> tuple[str, list[str]]:
    """How a run compares with the published one, in a sentence, and each departure.

    The sentence says why, if nothing can be compared.
    """
    try:
        verification = verify(run, reference)
    except KerhrmError as error:
        published = str(reference)
        problem = error.problem.replace(published, "results/reference")
        return f"not compared with the published run: {problem}", []
    verification = verification._replace(older=[])  # of which the page has a line
    sentence = str(verification).replace(str(reference), "results/reference")
    lines = []
    for cell in verification.departures.itertuples():
        name = f"{cell.table} {cell.setting} {cell.method} {cell.metric}"
        means = f"here {cell.mean_new:.4g}, published {cell.mean:.4g}"
        lines.append(f"{name} ({cell.selection}): {cell.departs}; {means}")
    return sentence, lines


def check_destination(path: Path, run: Run, reference: Path) -> None:
    """Refuse a file for :func:`save` that would take the place of another one.

    Raises KerhrmError if its folder is missing, it lies in the run or among what is
    published, or a file is there that no earlier call has written.
    """
    place = path.resolve()
    hint = "name a new file elsewhere"
    if not place.parent.is_dir():
        problem = f"--csv: the folder {path.parent} does not exist"
        raise KerhrmError(problem, "make it first, or name another one")
    folders = {
        run.folder: "the folder of the run, which its rules write",
        reference: f"{reference}, which is read",
    }
    for folder, what in folders.items():
        if place.is_relative_to(folder.resolve()):
            raise KerhrmError(f"--csv: {path} lies in {what}", hint)
    is_taken = os.path.lexists(path) and not _is_ours(path)
    if is_taken:
        raise KerhrmError(f"--csv: {path} exists and holds something else", hint)


def _is_ours(path: Path) -> bool:
    """Whether :func:`save` has written a file."""
    header = f"{','.join(COLUMNS)}\n".encode()
    is_file = path.is_file() and not path.is_symlink()
    if not is_file:
        return False
    with reading(path), open(path, "rb") as file:
        return file.read(len(header)) == header


def save(verification: Verification, path: Path) -> None:
    """Write all cells side by side."""
    cells = verification.cells
    content = cells.to_csv(index=False, float_format="%.6g")
    write_text(path, content)


def compare_cells(new: pd.DataFrame, old: pd.DataFrame) -> pd.DataFrame:
    """The cells of two sets of tables side by side, see :class:`Verification`."""
    keys = ["table", *KEYS]
    suffixes = ("_old", "_new")
    both = old.merge(
        new,
        on=keys,
        how="outer",
        suffixes=suffixes,
        indicator="found",
        validate="1:1",
    )
    pairs = both.to_dict("records")
    both["departs"] = [_problem(pair) for pair in pairs]
    both = both.rename(columns=lambda name: name.removesuffix("_old"))
    return both[COLUMNS]


def _problem(row: Mapping[Any, Any]) -> str:
    """How a cell departs; empty: it does not."""
    if row["found"] != "both":
        return "missing" if row["found"] == "left_only" else "new"
    if row["data_source_new"] != row["data_source_old"]:
        return f"from {row['data_source_new']}, not from {row['data_source_old']}"
    fails = row["verdict_new"] == "failed"
    failed_before = row["verdict_old"] == "failed"
    if fails or failed_before:
        if fails and failed_before:
            return ""
        return "failed" if fails else "failed before"
    low = row["ci_low_old"]
    high = row["ci_high_old"]
    margin = ROUNDING
    if not low < high:  # NaN, too
        low = high = row["mean_old"]
        metric = METRICS.get(row["metric"])
        if metric is not None:
            margin += metric.margin(low) / 2
    mean = row["mean_new"]
    is_inside = low - margin <= mean <= high + margin
    return "" if is_inside else "outside the interval"
