"""Tables of cells, methods as rows and settings as columns, each cell linked to its evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kerhrm.methods.registry import position
from kerhrm.reporting.layout import (
    GROUPS,
    MISSING,
    OTHER_RULES,
    SAME,
    blocks,
    layout,
    legend,
    outcome,
)  # fmt: skip
from kerhrm.reporting.page.markup import Place
from kerhrm.reporting.tables import headline, metric_name, metrics_of, results_of

#: beside the words of a verdict, for the eye; told apart in black and white, too
MARKS = {
    "agrees": "✓", "differs (good)": "▲", "differs (bad)": "▼", "differs": "◆", "undecided": "?",
    "not comparable": MISSING, "failed": "✕",
}  # fmt: skip


@dataclass(frozen=True)
class Badge:
    """An outcome in words, with a mark and the class of its colour."""

    words: str
    mark: str
    look: str


@dataclass(frozen=True)
class View:
    """A cell as the page shows it."""

    id: str
    mean: str
    spread: str
    paper: str
    badge: Badge | None
    sort: float  #: NaN goes last


@dataclass(frozen=True)
class Grid:
    """A table: groups of rows, each a method's name and its cells."""

    id: str
    caption: str
    columns: list[str]
    groups: list[tuple[str, list[tuple[str, list[View | None]]]]]


@dataclass(frozen=True)
class Shown:
    """All grids of a table: those of its result, of other metrics, and of other rules."""

    first: list[Grid]
    more: list[Grid]
    others: list[Grid]
    legend: str


def badge(outcome: str, words: str = "") -> Badge:
    """Of an outcome as :func:`kerhrm.reporting.layout.outcome` names it."""
    look = outcome.replace(" ", "-").replace("(", "").replace(")", "")
    return Badge(words or outcome, MARKS[outcome], look)


def view(cell: Mapping[str, Any]) -> View:
    """One cell; column ``id`` is its anchor."""
    failed = cell["verdict"] == "failed"
    mean = "failed" if failed else f"{cell['mean']:.3f}"
    spread = "" if failed or not cell["std"] > SAME else f"± {cell['std']:.3f}"
    printed = "" if pd.isna(cell["paper"]) else f"{cell['paper']:.3f}"
    found = None
    if cell["verdict"]:
        key = outcome(cell["verdict"], cell.get("direction", ""))
        side = cell["verdict"].partition(": ")[2]
        found = badge(key, key.replace("differs", side) if side else key)
    return View(cell["id"], mean, spread, printed, found, float(cell["mean"]))


def shown(cells: pd.DataFrame, place: Place, *, tall: bool = False) -> Shown:
    """Grids of one table's cells, which have the columns of a table and ``id``.

    ``tall``: with settings as rows, and methods as columns.
    """
    make = _tall if tall else _wide
    own = headline(cells)
    others = cells.drop(index=own.index)
    results = results_of(own)[:1]
    first = own[own["metric"].isin(results)]
    return Shown(
        make(first, place),
        make(own.drop(index=first.index), place),
        _wide(others, place, f", {OTHER_RULES.lower()}"),
        legend(own, {}),
    )


def _wide(cells: pd.DataFrame, place: Place, suffix: str = "") -> list[Grid]:
    found = []
    for metric, part in blocks(cells) if len(cells) else ():
        views = {cell["id"]: view(cell) for cell in part.to_dict("records")}
        wide = layout(part, lambda cell: str(cell["id"]))
        groups = [
            (GROUPS[str(track)], [
                (str(name[1]), [views.get(text) for text in texts])
                for name, texts in zip(rows.index, rows.to_numpy().tolist(), strict=True)
            ])
            for track, rows in wide.groupby(level="track", sort=False)
        ]  # fmt: skip
        caption = f"{_capital(metric_name(metric))}{_variant(list(wide.columns))}{suffix}"
        table = str(part["table"].iloc[0])
        found.append(Grid(place.name(f"{table} {caption}"), caption, list(wide.columns), groups))
    return found


def _variant(settings: list[str]) -> str:
    """What all settings of a block have behind their first key."""
    rest = {setting.partition(",")[2] for setting in settings}
    return f", {rest.pop()}" if len(settings) > 1 and len(rest) == 1 and rest != {""} else ""


def _tall(cells: pd.DataFrame, place: Place) -> list[Grid]:
    found = []
    for metric in metrics_of(cells):
        part = cells[cells["metric"] == metric]
        views = {(c["setting"], c["method"]): view(c) for c in part.to_dict("records")}
        methods = sorted(set(part["method"]), key=position)
        rows = [
            (setting, [views.get((setting, method)) for method in methods])
            for setting in dict.fromkeys(part["setting"])
        ]
        caption, table = _capital(metric_name(metric)), str(part["table"].iloc[0])
        found.append(Grid(place.name(f"{table} {caption}"), caption, methods, [("", rows)]))
    return found


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
