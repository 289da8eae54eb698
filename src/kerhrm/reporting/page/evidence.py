"""What stands behind each cell: its seeds, options, rule, verdict, files; as compact JSON."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kerhrm.reporting.explain.explanation import STEPS
from kerhrm.reporting.explain.options import MEANINGS, chosen
from kerhrm.reporting.explain.text import verdict_in_words
from kerhrm.reporting.page.sources import CELL, CHOICES, Sources
from kerhrm.reporting.tables import METRIC_NAMES

#: columns of a cell's record that are numbers in a list of all texts
TEXTS = ["table", "setting", "method", "metric", "selection", "data_source", "verdict"]
NUMBERS = ["mean", "std", "n_seeds", "ci_low", "ci_high", "paper", "own"]
BEHIND = ["line", "seeds", "options", "how", "choices"]


class Texts:
    """Each text once."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The place of a text among all."""
        return self.found.setdefault(text, len(self.found))


def named(cells: pd.DataFrame) -> pd.DataFrame:
    """All cells with two more columns: ``id``, an anchor, and ``line``, that in its file."""
    numbers = cells.groupby("table").cumcount() + 1
    ids = cells["table"].str.replace(r"[^\w-]", "-", regex=True) + "-c" + numbers.astype(str)
    return cells.assign(id=ids, line=numbers + 1)


def records(sources: Sources, cells: pd.DataFrame) -> dict[str, Any]:
    """Everything behind ``cells``, as :func:`named` gives them; a template makes JSON of it.

    ``cells`` are lists by id in the order of ``columns``, those in ``named`` by their place in
    ``texts``; ``files`` has path and hash of each table's file by its name.
    """
    texts, options = Texts(), Options(sources)
    values = _per_seed(sources)
    choices = dict(iter(sources.choices.groupby(["table", "setting"])))
    rows = {}
    for cell in cells.to_dict("records"):
        told = cell | {"verdict": verdict_in_words(cell) if cell["verdict"] else ""}
        where = _setting(sources.experiments, cell["table"], cell["setting"])
        behind, how, stem = options.of(where, cell)
        rows[cell["id"]] = [
            *(texts.number(str(told[name])) for name in TEXTS),
            *(_short(cell[name]) for name in NUMBERS),
            cell["line"],
            values.get((cell["table"], *(cell[name] for name in CELL))),
            texts.number(behind),
            texts.number(how),
            texts.number(_told(choices.get((cell["table"], where[1])) if stem in STEPS else None)),
        ]
    hashes = dict(sources.hashes())
    files = {
        table: [Path(os.path.relpath(path, sources.checkout)).as_posix(), hashes[path]]
        for table, path in sources.files.items()
    }
    return {
        "columns": TEXTS + NUMBERS + BEHIND, "named": [*TEXTS, *BEHIND[2:]],
        "texts": list(texts.found), "cells": rows, "files": files, "metrics": METRIC_NAMES,
        "folder": Path(os.path.relpath(sources.folder, sources.checkout)).as_posix(),
    }  # fmt: skip


class Options:
    """Options of cells and how they were chosen; many cells have the same."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.known: dict[tuple[str, ...], tuple[str, str, str]] = {}

    def of(self, where: tuple[str, str], cell: Mapping[str, Any]) -> tuple[str, str, str]:
        """Options as JSON, in words what chose them, and the stem of the predictions.

        "" where the configuration lacks them.
        """
        name, setting = where
        if not name:
            return "", "", ""
        section = json.dumps(self.sources.experiments[name]["settings"][setting]["methods"])
        key = name, section, cell["method"], cell["selection"]
        if key not in self.known:
            self.known[key] = self._find(name, setting, cell)
        return self.known[key]

    def _find(self, name: str, setting: str, cell: Mapping[str, Any]) -> tuple[str, str, str]:
        tuned = self.sources.checkout / "config" / "tuned"
        try:
            found = chosen(self.sources.experiments, name, setting, cell, tuned)
        except KeyError:  # of an earlier configuration
            return "", "", ""
        meaning = MEANINGS.get(found.rule, "")
        how = f"{found.how}; {meaning}" if meaning and found.method else found.how
        return json.dumps(found.options) if found.options else "", how, found.stem


def _per_seed(sources: Sources) -> dict[tuple[str, ...], list[list[Any]]]:
    """Seed and value of every cell that scores are kept of."""
    groups = sources.scores.groupby(["table", *CELL], sort=False)
    return {
        tuple(map(str, key)): [
            [str(s), _short(v)] for s, v in zip(part["seed"], part["value"], strict=True)
        ]
        for key, part in groups
    }


def _short(value: Any) -> Any:
    """A number of six digits; none of what is not finite, which JSON lacks."""
    if value is None or not np.isfinite(value):
        return None
    number = float(f"{float(value):.6g}")
    return int(number) if number.is_integer() else number


def _setting(experiments: Mapping[str, Any], table: str, cell: str) -> tuple[str, str]:
    """Experiment and setting of a cell; periods and iterations are cells of one setting."""
    mark = cell.partition(",")[2]
    shown = {name: e["settings"] for name, e in experiments.items() if e["table"] == table}
    for name, settings in shown.items():
        if cell in settings:
            return name, cell
    for name, settings in shown.items():
        for setting in settings:
            first, _, rest = setting.partition(",")
            if rest == mark and "=" not in first:
                return name, setting
    return "", ""


def _told(choices: pd.DataFrame | None) -> str:
    """What was chosen in every seed, as JSON: rows of a table below their names."""
    if choices is None:
        return ""
    columns = [name for name in CHOICES[2:] if choices[name].notna().any()]
    rows = choices[columns].astype(object).where(choices[columns].notna(), None)
    return json.dumps([columns, *rows.to_numpy().tolist()])
