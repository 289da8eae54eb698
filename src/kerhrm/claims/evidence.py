"""What claims are checked on: per-seed scores of a run, and small runs of the library."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kerhrm.claims.labs import Labs
from kerhrm.claims.parts import Part
from kerhrm.config.fresh import MORE
from kerhrm.methods.registry import is_headline

OURS, NTF, LITERAL = "KerHRM (network)", "KerHRM (NTF)", "KerHRM (literal)"


class NotInRunError(LookupError):
    """A table, row or cell that a claim needs was not made."""


class Scores:
    """Headline scores per seed, by table (name of the experiment)."""

    def __init__(self, frames: Mapping[str, pd.DataFrame]) -> None:
        self.tables = {name: _headline(frame) for name, frame in frames.items()}

    @classmethod
    def read(cls, paths: Iterable[str | Path]) -> "Scores":
        """Rows of :mod:`kerhrm.scoring.scores`, a file per experiment, which names it.

        Those of further seeds (:mod:`kerhrm.config.fresh`) join their experiment's.
        """
        frames: dict[str, list[pd.DataFrame]] = {}
        for path in map(Path, paths):
            frames.setdefault(path.stem.removesuffix(MORE), []).append(pd.read_csv(path))
        return cls({name: pd.concat(parts, ignore_index=True) for name, parts in frames.items()})

    def of(self, table: str, setting: str, method: str, metric: str) -> pd.Series:
        """Values of a cell by seed; :class:`NotInRunError` if there is none."""
        if table not in self.tables:
            raise NotInRunError(f"no {table}")
        rows = self.tables[table]
        for name, wanted in (("setting", setting), ("method", method), ("metric", metric)):
            rows = rows[rows[name] == wanted]
            if rows.empty:
                raise NotInRunError(f"no {wanted} in {table}")
        return rows.set_index("seed")["value"]

    @property
    def sources(self) -> str:
        """Where the data of all tables come from, stand-ins first."""
        found = {source for rows in self.tables.values() for source in rows["data_source"]}
        return "; ".join(sorted(found, key=lambda s: (not s.startswith("stand-in:"), s)))

    def settings(self, table: str) -> list[str]:
        """Names of a table's settings; none if there is no such table."""
        return list(self.tables[table]["setting"].unique()) if table in self.tables else []


def _headline(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.assign(seed=frame["seed"].astype(str))
    return frame[list(map(is_headline, frame["method"], frame["selection"]))]


def paired(*cells: pd.Series) -> list[np.ndarray]:
    """Values of several cells over the seeds that all of them have, in one order."""
    frame = pd.concat(cells, axis=1, join="inner")
    if frame.empty:
        raise NotInRunError("no seed in common")
    return list(frame.to_numpy(dtype=float).T)


def pair(a: pd.Series, b: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Values of two cells over the seeds that both have."""
    ours, theirs = paired(a, b)
    return ours, theirs


@dataclass(frozen=True)
class Case:
    """What a check may look at: scores, the row that stands for the paper's method, small runs."""

    scores: Scores
    labs: Labs
    row: str = OURS


@dataclass(frozen=True)
class Finding:
    """What a check found, and what else should be known of it."""

    part: Part
    note: str = ""
