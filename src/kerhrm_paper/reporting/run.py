"""The folder of a run, or of the published one, which has the same layout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import visible_files
from kerhrm_paper.evaluation.tables import OF_PAPER, notice
from kerhrm_paper.reporting import result_files
from kerhrm_paper.reporting.notes import (
    CONFIGURATION,
    PUBLICATION,
    Kind,
    Pattern,
    read_note,
)
from kerhrm_paper.reporting.result_files import ResultFile
from kerhrm_paper.runs import provenance
from kerhrm_paper.runs.arrays import reading, restoring

#: keys of a cell within its table
KEYS = ["setting", "method", "metric", "selection"]
COMPARISONS = "-comparisons"
BAND = "as_printed_band.csv"
ENDPOINTS = "endpoints.csv"
RECORD = "provenance.json"  #: of what is published, in its folder


@dataclass(frozen=True)
class Run:
    """What stands in ``results/PRESET`` or ``results/reference``.

    Every method raises KerhrmError, in one line, if its file is missing or damaged.
    """

    folder: Path

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration, as it was written when the run began."""
        return self._note("config.yaml", CONFIGURATION)

    @property
    def competing(self) -> dict[str, float]:
        """Learners with a time limit, in minutes: those of ``kerhrm compete``."""
        limits = {}
        learners = self.config.get("learners") or {}
        for name, learner in learners.items():
            minutes = (learner or {}).get("timeout")
            if minutes is not None:
                limits[name] = minutes
        return limits

    @cached_property
    def provenance(self) -> Mapping[str, Any]:
        """What made the published tables; empty for a run that is not published."""
        if not self.has(RECORD):
            return {}
        return self._note(RECORD, PUBLICATION)  # JSON is YAML

    def preset(self, table: str = "") -> str:
        """The preset of the run, or of one of its tables, where they differ."""
        tables = self.provenance.get("tables") or {}
        of_table = tables.get(table) or {}
        preset = of_table.get("preset")
        preset = preset or self.config.get("preset", "")
        return str(preset)

    def mark(self, cells: pd.DataFrame | None = None) -> str:
        """How the run differs from the published options.

        Of some cells, also stand-ins for real data.
        """
        noted = self.config.get("mark", "")
        mark = str(noted)
        if cells is None:
            return mark
        return notice(cells, mark)

    @property
    def tables(self) -> list[str]:
        """Names of the tables: those of the paper first."""
        folder = self.folder / "tables"
        with reading(folder):
            files = visible_files(folder, "*.csv")
        stems = [path.stem for path in files]
        names = [stem for stem in stems if not stem.endswith(COMPARISONS)]
        return sorted(names, key=_place)

    def check_table(self, name: str) -> None:
        """Refuse a name that is none of the tables; the hint has those that are."""
        if name not in self.tables:
            known = ", ".join(self.tables) or "none"
            problem = f"{self.folder} has no table '{name}'"
            raise KerhrmError(problem, f"it has {known}")

    def title(self, table: str) -> str:
        """Title of a table, its name if the configuration has none."""
        declared = self._declared(table)
        return declared.get("title") or table

    def about(self, table: str) -> str:
        """What a table shows, as the configuration says."""
        declared = self._declared(table)
        return declared.get("about") or ""

    def _declared(self, table: str) -> dict[str, str]:
        if not self.has("config.yaml"):
            return {}
        tables = self.config.get("tables") or {}
        return tables.get(table) or {}

    def cells(self, *tables: str) -> pd.DataFrame:
        """The rows of some tables; of all, if none is named."""
        names = tables or tuple(self.tables)
        if not names:
            problem = f"{self.folder} has no tables"
            raise FileError(problem, "make some with snakemake first")
        frames = [self._cells(name) for name in names]
        return pd.concat(frames, ignore_index=True)

    def _cells(self, table: str) -> pd.DataFrame:
        """The rows of a table; FileError if they are another one's."""
        file = f"tables/{table}.csv"
        frame = self._csv(file, result_files.CELLS)
        for name in frame["table"]:
            if name != table:
                problem = f"{self.folder / file} is damaged (it has rows of {name})"
                raise FileError(problem, self.mending(file))
        return frame

    def comparisons(self, table: str) -> pd.DataFrame:
        """Paired differences between the methods of a table."""
        return self._csv(f"tables/{table}{COMPARISONS}.csv", result_files.COMPARISONS)

    def endpoints(self) -> pd.DataFrame:
        """The test of each method's mean over a table's settings
        against the paper's."""
        return self._csv(ENDPOINTS, result_files.ENDPOINTS)

    def band(self) -> pd.DataFrame | None:
        """Lowest and highest mean over constants that the paper does not print.

        None where the run has no such file.
        """
        if not self.has(BAND):
            return None
        return self._csv(BAND, result_files.BAND)

    def scores(self, table: str) -> pd.DataFrame:
        """Values of every seed."""
        return self._csv(f"scores/{table}.csv.gz", result_files.SCORES)

    def claims(self) -> pd.DataFrame:
        """The paper's claims and how they fared."""
        return self._csv("claims.csv", result_files.CLAIMS)

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        path = self.folder / name
        with reading(path):
            return path.exists()

    def mending(self, name: str) -> str:
        """The hint for a file that is damaged: in a folder of published files it is
        restored, as publishing refuses one without them."""
        if self.has(RECORD):
            return restoring(self.folder / name)
        return "delete it and run again"

    def check_unchanged(
        self, *names: str, hint: str = "restore it, or publish it again"
    ) -> None:
        """Refuse files that are not as the publication, or their job, has left them.

        In a folder without any record of a job or of the publication nothing is
        checked.
        """
        published = self.provenance.get("files") or {}
        for name in names:
            path = self.folder / name
            with reading(path):
                if self.has(provenance.PROVENANCE):
                    provenance.check(self.folder, [path])
                if published and provenance.digest(path) != published.get(name):
                    problem = f"{path} has changed since it was published"
                    if name not in published:
                        problem = f"{path} is not among the files that were published"
                    raise FileError(problem, hint)

    def _csv(self, name: str, kind: ResultFile) -> pd.DataFrame:
        return self._read(name, kind.read)

    def _note(self, name: str, form: dict[Pattern, Kind]) -> dict[str, Any]:
        return self._read(name, lambda path: read_note(path, form))

    def _read(self, name: str, read: Callable[[Path], Any]) -> Any:
        path = self.folder / name
        with reading(path, self.mending(name)):
            return read(path)


def read_scores(path: str | Path) -> pd.DataFrame:
    """Scores of a table of another run, by the path of their file."""
    file = Path(path)
    run = Run(file.parent)
    return run._csv(file.name, result_files.SCORES)


def _place(table: str) -> tuple[bool, bool, str]:
    """Of a table among others: tables and then figures of the paper come first."""
    return table not in OF_PAPER, "figure" in table, table
