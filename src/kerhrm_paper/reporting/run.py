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
    "reason",
    "selection",
    "data_source",
    "setting",
    "method",
    "learner",
)
COMPARISONS = "-comparisons"


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

    @cached_property
    def provenance(self) -> Mapping[str, Any]:
        """What made the published tables; empty for a run that is not published."""
        path = self.folder / "provenance.json"
        return self._yaml(path.name) if path.exists() else {}  # JSON is YAML

    def preset(self, table: str = "") -> str:
        """The preset of the run, or of one of its tables, where they differ."""
        made = self.provenance.get("tables", {}).get(table, {})
        return str(made.get("preset") or self.config.get("preset", ""))

    def mark(self, cells: pd.DataFrame | None = None) -> str:
        """How the run differs from the published options.

        Of some cells, also stand-ins for real data.
        """
        mark = str(self.config.get("mark", ""))
        return mark if cells is None else notice(cells, mark)

    @property
    def tables(self) -> list[str]:
        """Names of the tables: those of the paper first."""
        stems = [path.stem for path in (self.folder / "tables").glob("*.csv")]
        names = [stem for stem in stems if not stem.endswith(COMPARISONS)]
        return sorted(
            names, key=lambda name: (name[-1:] not in "1234", "figure" in name, name)
        )

    def title(self, table: str) -> str:
        """Title of a table, its name if the configuration has none."""
        return self._told(table).get("title") or table

    def about(self, table: str) -> str:
        """What a table shows, as the configuration says."""
        return self._told(table).get("about") or ""

    def _told(self, table: str) -> dict[str, str]:
        config = self.config if self.has("config.yaml") else {}
        return config.get("tables", {}).get(table) or {}

    def cells(self, *tables: str) -> pd.DataFrame:
        """The rows of some tables; of all, if none is named."""
        names = tables or tuple(self.tables)
        if not names:
            raise FileError(
                f"{self.folder} has no tables", "make some with snakemake first"
            )
        return pd.concat(
            [self._csv(f"tables/{name}.csv") for name in names], ignore_index=True
        )

    def comparisons(self, table: str) -> pd.DataFrame:
        """Paired differences between the methods of a table."""
        return self._csv(f"tables/{table}{COMPARISONS}.csv")

    def endpoints(self) -> pd.DataFrame:
        """The test of each method's mean over a table's settings
        against the paper's."""
        return self._csv("endpoints.csv")

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
        texts = [column for column in TEXTS if column in frame]
        return frame.assign(**{c: frame[c].astype(object).fillna("") for c in texts})

    def _yaml(self, name: str) -> dict[str, Any]:
        return self._read(name, lambda path: dict(parse(path.read_text("utf-8"))))

    def _read(self, name: str, read: Callable[[Path], Any]) -> Any:
        with reading(self.folder / name):
            return read(self.folder / name)


def _read_csv(path: Path) -> pd.DataFrame:
    """A table whose texts stay as they are, as ``1.0`` and ``NA``."""
    texts = dict.fromkeys(TEXTS, str)
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""])
