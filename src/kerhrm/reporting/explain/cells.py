"""Which cell is meant, in a run or in what was published of one."""

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.config.files import Tree, read
from kerhrm.costs.reference import VERSIONS
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import row_titled
from kerhrm.reporting.provenance import command
from kerhrm.reporting.readme import COMPARISONS
from kerhrm.reporting.tables import read_table

NEAREST = 3  #: names that an error tells


@dataclass(frozen=True)
class Shelf:
    """Where a table and what belongs to it stand."""

    folder: Path  #: with ``config.yaml``
    table: Path
    config: Tree

    @property
    def is_run(self) -> bool:
        """Whether it is a run's own folder; else one that has been published."""
        return not (self.folder / VERSIONS).exists()

    @property
    def experiments(self) -> dict[str, Any]:
        """Those that the table shows, as configured."""
        every = self.config["experiments"]
        return {name: e for name, e in every.items() if e["table"] == self.table.stem}

    def command(self, target: str | None = None) -> str:
        """What makes a target, by default the table, again."""
        return command(self.config, target or self.table.stem)


def shelf_of(run: Path, table: str) -> Shelf:
    """Find a table in ``results/<preset>`` or in ``results/reference``.

    Raises
    ------
    KerhrmError
        If there is no such run or table; it tells the nearest tables, or what makes it.
    """
    if not (run / "config.yaml").exists():
        raise KerhrmError(f"there is no run in {run}", "name one by --run, or run the workflow")
    found = tables_in(run)
    if table in found:
        folder = found[table].parent
        folder = folder.parent if folder.name == "tables" else folder
        return Shelf(folder, found[table], read_config(folder / "config.yaml"))
    config = read_config(run / "config.yaml")
    if table in {e["table"] for e in config["experiments"].values()}:
        raise KerhrmError(f"{run} has no {table} yet", f"make it: {command(config, table)}")
    raise unknown("table", table, found, str(run))


def read_config(path: Path) -> Tree:
    """A resolved configuration that a run has written down; KerhrmError if it is something else."""
    content = read(path).content
    if "preset" not in content:
        raise KerhrmError(f"{path} is no configuration of a run", "run the workflow")
    return {"experiments": {}} | content


def tables_in(run: Path) -> dict[str, Path]:
    """Paths of the tables that stand in a run, by name; those published apart come last."""
    paths = sorted(run.glob("tables/*.csv")) + [
        p for p in sorted(run.glob("*/*.csv")) if p.stem == p.parent.name and _has_cells(p)
    ]
    return {p.stem: p for p in paths if not p.stem.endswith(COMPARISONS)}


def _has_cells(path: Path) -> bool:
    with path.open(encoding="utf-8") as lines:
        return lines.readline().startswith("table,")


def cell_of(
    shelf: Shelf, setting: str, method: str, metric: str, rule: str | None = None
) -> dict[str, Any]:
    """A row of a table, by default of the method's own selection rule.

    Raises
    ------
    KerhrmError
        If there is none: which part of its name is wrong, and the nearest names there are.
    """
    cells = read_table(shelf.table)
    where = shelf.table.stem
    for part, name in (("setting", setting), ("method", method), ("metric", metric)):
        cells = _with(cells, part, name, where)
        where = f"{where}, {name}"
    own = row_titled(method).rule
    rules = list(dict.fromkeys(cells["selection"]))
    wanted = rule or (own if own in rules else rules[0])
    (cell,) = _with(cells, "selection", wanted, where).to_dict("records")
    return {str(name): value for name, value in cell.items()}


def _with(cells: pd.DataFrame, part: str, name: str, where: str) -> pd.DataFrame:
    found = cells[cells[part] == name]
    if found.empty:
        word = "selection rule" if part == "selection" else part
        raise unknown(word, name, list(dict.fromkeys(cells[part])), where)
    return found


def unknown(part: str, name: str, known: Iterable[str], where: str) -> KerhrmError:
    """Error about a name that is not among the known ones: the nearest of them, or all."""
    names = list(known)
    near = _nearest(name, names)
    cure = f"nearest: {', '.join(near)}" if near else f"known are: {', '.join(names)}"
    return KerhrmError(f"no {part} '{name}' in {where}", cure)


def _nearest(name: str, known: Collection[str]) -> list[str]:
    """Up to :data:`NEAREST` names, whatever their case; those that contain the word go first."""
    lower = {other.lower(): other for other in known}
    inside = [other for word, other in lower.items() if name.lower() in word]
    close = difflib.get_close_matches(name.lower(), lower, n=NEAREST, cutoff=0.5)
    return list(dict.fromkeys([*inside, *(lower[word] for word in close)]))[:NEAREST]
