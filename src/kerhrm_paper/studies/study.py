"""What a study consists of: units of work, summaries of their rows, and figures."""

import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import binomtest

from kerhrm_paper.evaluation.tables import FALLBACK
from kerhrm_paper.runs.arrays import load_arrays
from kerhrm_paper.runs.checkpoints import Checkpoint, Result

Array = np.ndarray
Compute = Callable[[], DataFrame]
Figures = dict[str, Figure]
Files = Mapping[str, str]  #: paths of what a study reads, by name
StudyRow = dict[str, Any]
Frames = dict[str, DataFrame]

NOTE = "smoke sizes"  #: on results of few units, in their column ``note``


class Unit(NamedTuple):
    """One data set, or one fit: some rows of a table."""

    table: str
    key: StudyRow  #: the first columns of these rows
    compute: Compute  #: their other columns


@dataclass(frozen=True)
class RowKey:
    """First columns of rows of a table: the fields of a class that adds them."""

    table: ClassVar[str]

    def unit(self, compute: Compute) -> Unit:
        """The unit that computes the other columns."""
        columns = asdict(self)
        return Unit(self.table, columns, compute)


def no_tables(drawn: Frames) -> Frames:
    """Summaries of a study whose rows are its results."""
    return {}


def no_figures(tables: Frames) -> Figures:
    """Figures of a study without any."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Study:
    """The steps of a study, in their order."""

    units: Callable[[Files], Iterable[Unit]]
    summaries: Callable[[Frames], Frames] = no_tables  #: of the units' tables
    figures: Callable[[Frames], Figures] = no_figures  #: of all tables

    def run(
        self,
        files: Files,
        checkpoint: Checkpoint,
        few: int | None = None,
        stand_in: str | None = None,
    ) -> tuple[Frames, Figures]:
        """Compute all tables and figures.

        Parameters
        ----------
        files : mapping of str to str
            Paths of what the study reads, by name.
        checkpoint : Checkpoint
            Units that an earlier start has computed are not computed again.
        few : int, optional
            Number of units of each table, and tables and figures say ``smoke sizes``;
            by default all units.
        stand_in : str, optional
            What stands in for the raw data, which tables and figures say, too.

        Returns
        -------
        tables : dict of str to DataFrame
            The units' rows, then the summaries.
        figures : dict of str to Figure
            By name.
        """
        units = list(self.units(files))
        if few is not None:
            units = spread(units, few)
        drawn = compute(units, checkpoint)
        tables = drawn | self.summaries(drawn)
        figures = self.figures(tables)
        notes = []
        if few is not None:
            notes.append(NOTE)
        if stand_in is not None:
            notes.append(f"stand-ins for real data: {stand_in}")
        if notes:
            _mark("; ".join(notes), tables, figures)
        return tables, figures


def stand_in(files: Files) -> str | None:
    """Source of what stands in for the raw data of a study; None of real ones."""
    if "raw" not in files:
        return None
    _, facts = load_arrays(files["raw"])
    source = str(facts["source"])
    return source if source.startswith(FALLBACK) else None


def _mark(note: str, tables: Frames, figures: Figures) -> None:
    """Say on all results that they are not those of the study."""
    for name, rows in tables.items():
        tables[name] = rows.assign(note=note)
    for figure in figures.values():
        figure.suptitle(note)


def compute(units: Sequence[Unit], checkpoint: Checkpoint) -> Frames:
    """Rows of all units, by table."""
    frames = defaultdict(list)
    checkpoint.expect(len(units))
    for unit in units:
        words = [unit.table, *unit.key.values()]
        name = json.dumps(words)
        compute_columns = partial(_columns, unit.compute)
        columns = checkpoint.once(name, compute_columns)
        frame = DataFrame(unit.key | dict(columns))
        frames[unit.table].append(frame)
    tables = {}
    for table, rows in frames.items():
        tables[table] = pd.concat(rows, ignore_index=True)
    return tables


def _columns(compute: Compute) -> Result:
    """Columns of a frame, of plain NumPy types."""
    columns = {}
    for name, column in compute().items():
        values = column.tolist()
        columns[str(name)] = np.asarray(values)
    return columns


def spread(units: Iterable[Unit], few: int) -> list[Unit]:
    """Choose ``few`` units of each table, evenly spaced from the first one on."""
    by_table = defaultdict(list)
    for unit in units:
        by_table[unit.table].append(unit)
    chosen = []
    for candidates in by_table.values():
        step = -(-len(candidates) // few)
        chosen += candidates[::step]
    return chosen


# --- what several studies use ---------------------------------------------------------


def quiet() -> AbstractContextManager[object]:
    """Ignore warnings of the estimators, as that no environments were detected."""
    expected = UserWarning
    return warnings.catch_warnings(action="ignore", category=expected)


def keyed(columns: Iterable[str], values: Iterable[Any]) -> StudyRow:
    """The first columns of a row, by name."""
    pairs = zip(columns, values, strict=True)
    return dict(pairs)


def detections(draws: DataFrame) -> StudyRow:
    """How often environments were detected, with Clopper and Pearson's 95 % interval.

    ``draws`` has the column ``detected``.
    """
    n = len(draws)
    detected = int(draws["detected"].sum())
    interval = binomtest(detected, n).proportion_ci()
    return {
        "draws": n,
        "detected": detected,
        "low": interval.low,
        "high": interval.high,
    }
