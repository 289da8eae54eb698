"""The tables of a run: each row is on disk as soon as it is known."""

import csv
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import linregress

from kerhrm.storage.arrays import write_text

Row = dict[str, Any]
TIMES = ("rounds", "median_s", "spread_s")
COLUMNS: dict[str, tuple[str, ...]] = {
    "stages": (
        "stage", "data", "n", "p", "seeds", "threads", *TIMES,
        "gflop", "gflops", "gemm_gflops", "percent_of_gemm", "status",
    ),
    "growth": ("stage", "axis", "value", *TIMES, "exponent", "standard_error", "status"),
    "peers": (
        "task", "contender", "n", "p", "threads", *TIMES,
        "difference", "tolerance", "times_ours", "status",
    ),
    "memory": (
        "task", "contender", "n", "p", "before_mb", "peak_mb", "increase_mb",
        "times_ours", "status",
    ),
    "limits": ("name", "what", "unit", "measured", "sense", "limit", "met"),
}  # fmt: skip
#: columns that tell rows apart
KEYS = {
    "stages": ("stage", "data"),
    "growth": ("stage", "axis", "value"),
    "peers": ("task", "contender"),
    "memory": ("task", "contender"),
    "limits": ("name",),
}
OURS = "kerhrm"
OK = "ok"


def folder() -> Path:
    """Where a run writes: BENCH_RESULTS, by default results/bench."""
    return Path(os.environ.get("BENCH_RESULTS", "results/bench"))


class Tables:
    """All tables of one run; ``put`` writes the whole file, so that it is never half of one."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.rows: dict[str, dict[tuple[str, ...], Row]] = {name: {} for name in COLUMNS}

    @classmethod
    def read(cls, where: Path) -> "Tables":
        """What a run has written; a missing file is an empty table."""
        tables = cls(where)
        for name, rows in tables.rows.items():
            path = where / f"{name}.csv"
            if path.exists():
                with path.open(encoding="utf-8", newline="") as file:
                    for row in csv.DictReader(file):
                        rows[_key(name, row)] = {c: _value(v) for c, v in row.items()}
        return tables

    def put(self, name: str, row: Row) -> None:
        """Add a row, or replace the one with its key."""
        rows = self.rows[name]
        if unknown := row.keys() - {*COLUMNS[name]}:
            raise KeyError(f"{name} has no column {sorted(unknown)}")
        rows[_key(name, row)] = row
        if name == "growth":
            self._fit(row)
        if "times_ours" in COLUMNS[name]:
            self._compare(name, row)
        self.write(name)

    def write(self, name: str) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS[name], lineterminator="\n")
        writer.writeheader()
        for row in self.rows[name].values():
            writer.writerow({c: _text(v) for c, v in row.items()})
        write_text(self.where / f"{name}.csv", text.getvalue())

    def get(self, name: str, *key: str) -> Row | None:
        """The row with a key, if it was measured."""
        row = self.rows[name].get(key)
        return row if row and row.get("status", OK) == OK else None

    def _fit(self, row: Row) -> None:
        """Give the rows of a series the exponent of all of its points so far."""
        same = [r for r in self.rows["growth"].values()
                if (r["stage"], r["axis"]) == (row["stage"], row["axis"])]  # fmt: skip
        exponent, error = fit_exponent(
            {float(r["value"]): float(r["median_s"]) for r in same if r["status"] == OK}
        )
        for other in same:
            other |= {"exponent": exponent, "standard_error": error}

    def _compare(self, name: str, row: Row) -> None:
        """Time, or increase of memory, of a task's contenders as multiples of ours."""
        what = "median_s" if name == "peers" else "increase_mb"
        ours = self.get(name, row["task"], OURS)
        for other in self.rows[name].values():
            if ours and other["task"] == row["task"] and other["status"] == OK:
                other["times_ours"] = float(other[what]) / max(float(ours[what]), 1e-9)


def fit_exponent(points: Mapping[float, float]) -> tuple[float | None, float | None]:
    """Slope of log time over log size, and its standard error; None where points are too few."""
    if len(points) < 2:
        return None, None
    line = linregress(np.log(list(points)), np.log(list(points.values())))
    return float(line.slope), float(line.stderr) if len(points) > 2 else None


def write_json(path: Path, facts: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(facts, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def _key(name: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[column]) for column in KEYS[name])


def _text(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def _value(text: str) -> Any:
    """A number, where it is one; None where the field is empty."""
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
