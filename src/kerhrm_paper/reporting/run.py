"""The folder of a run, or of the published one, which has the same layout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm.errors import FileError
from kerhrm_paper.config.strict_yaml import parse
from kerhrm_paper.evaluation.tables import notice
from kerhrm_paper.runs.arrays import reading

#: keys of a cell within its table
KEYS = ["setting", "method", "metric", "selection"]
#: columns of text that may be empty in every row, which pandas would read as numbers
TEXTS = (
    "verdict",
    "outcome",
    "outcome_exact",
    "part",
    "reason",
    "selection",
    "data_source",
    "setting",
    "method",
    "learner",
)
COMPARISONS = "-comparisons"
BAND = "as_printed_band.csv"


@dataclass(frozen=True)
class Run:
    """What stands in ``results/PRESET`` or ``results/reference``.

    Every method raises KerhrmError, in one line, if its file is missing or damaged.
    """

    folder: Path

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration, as it was written when the run began."""
        return self._yaml("config.yaml")

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
        path = self.folder / "provenance.json"
        if not path.exists():
            return {}
        return self._yaml(path.name)  # JSON is YAML

    def preset(self, table: str = "") -> str:
        """The preset of the run, or of one of its tables, where they differ."""
        tables = self.provenance.get("tables", {})
        of_table = tables.get(table, {})
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
        files = folder.glob("*.csv")
        stems = [path.stem for path in files]
        names = [stem for stem in stems if not stem.endswith(COMPARISONS)]
        return sorted(names, key=_place)

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
        tables = self.config.get("tables", {})
        return tables.get(table) or {}

    def cells(self, *tables: str) -> pd.DataFrame:
        """The rows of some tables; of all, if none is named."""
        names = tables or tuple(self.tables)
        if not names:
            problem = f"{self.folder} has no tables"
            raise FileError(problem, "make some with snakemake first")
        frames = [self._csv(f"tables/{name}.csv") for name in names]
        return pd.concat(frames, ignore_index=True)

    def comparisons(self, table: str) -> pd.DataFrame:
        """Paired differences between the methods of a table."""
        return self._csv(f"tables/{table}{COMPARISONS}.csv")

    def endpoints(self) -> pd.DataFrame:
        """The test of each method's mean over a table's settings
        against the paper's."""
        return self._csv("endpoints.csv")

    def band(self) -> pd.DataFrame | None:
        """Lowest and highest mean over constants that the paper does not print.

        None where the run has no such file.
        """
        if not self.has(BAND):
            return None
        return self._csv(BAND)

    def scores(self, table: str) -> pd.DataFrame:
        """Values of every seed."""
        return self._csv(f"scores/{table}.csv.gz")

    def claims(self) -> pd.DataFrame:
        """The paper's claims and how they fared."""
        return self._csv("claims.csv")

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.folder / name).exists()

    def _csv(self, name: str) -> pd.DataFrame:
        frame = self._read(name, _read_csv)
        texts = {}
        for column in TEXTS:
            if column in frame:
                values = frame[column].astype(object)
                texts[column] = values.fillna("")
        return frame.assign(**texts)

    def _yaml(self, name: str) -> dict[str, Any]:
        return self._read(name, _read_yaml)

    def _read(self, name: str, read: Callable[[Path], Any]) -> Any:
        path = self.folder / name
        with reading(path):
            return read(path)


def read_scores(path: str | Path) -> pd.DataFrame:
    """Scores of a table of another run, by the path of their file."""
    file = Path(path)
    run = Run(file.parent)
    return run._csv(file.name)


def _place(table: str) -> tuple[bool, bool, str]:
    """Of a table among others: tables and then figures of the paper come first."""
    is_of_paper = table[-1:] in "1234"
    return not is_of_paper, "figure" in table, table


def _read_yaml(path: Path) -> dict[str, Any]:
    text = path.read_text("utf-8")
    return dict(parse(text))


def _read_csv(path: Path) -> pd.DataFrame:
    """A table whose texts stay as they are, as ``1.0`` and ``NA``."""
    texts = dict.fromkeys(TEXTS, str)
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
