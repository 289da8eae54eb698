"""Where the marks of small pictures stand; templates draw them as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerhrm.reporting.published import Cell, Published
from kerhrm.reporting.tables import metric_name
from kerhrm.reporting.wording import KERHRM, TABLES, span
from kerhrm.scoring.verdicts import CRITERIA

WIDTH, LEFT, RIGHT, LINE, TOP = 360, 112, 12, 34, 8
#: beside the tracks of KerHRM
BEST, PAPER = "best baseline", "the paper's KerHRM"


@dataclass(frozen=True)
class Mark:
    """A mean with the ends of its interval, as places on the page."""

    kind: int  #: number of the series
    y: float
    x: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Chart:
    """A panel: rows are settings, series are :attr:`series`."""

    id: str
    title: str
    alt: str
    height: float
    rows: list[tuple[float, str]]
    ticks: list[tuple[float, str]]
    marks: list[Mark]
    series: list[tuple[int, str]]
    better: str


@dataclass(frozen=True)
class Scale:
    """A line from ``low`` to ``high``, drawn from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low or 1.0)
        return round(self.start + share * (self.end - self.start), 1)


def beside_paper(results: Published) -> list[Chart]:
    """Of each table KerHRM's tracks, the best baseline and the paper's number, by setting."""
    found = (_chart(results, table) for table in TABLES if results.has(table))
    return [chart for chart in found if chart]


def _chart(results: Published, table: str) -> Chart | None:
    settings = results.settings(table)
    best = results.best(table)
    tracks = [m for m in KERHRM if results.has(table, m)]
    if not (settings and tracks):
        return None
    series = [*tracks, BEST, PAPER]
    cells: dict[tuple[str, str], Cell] = {
        (setting, method): results.cell(table, setting, method)
        for setting in settings
        for method in tracks
    }
    cells |= {(s, BEST): results.cell(table, s, method) for s, method in best.items()}
    printed = {s: cells[s, m].row["paper"] for s in settings for m in tracks}
    values = [v for c in cells.values() for v in (float(c), c.row["ci_low"], c.row["ci_high"])]
    values = [v for v in (*values, *printed.values()) if np.isfinite(v)]
    if not values:
        return None
    ticks = _ticks(min(values), max(values))
    to_x = Scale(ticks[0], ticks[-1], LEFT, WIDTH - RIGHT)
    marks, rows = [], []
    for number, setting in enumerate(settings):
        middle = TOP + LINE * (number + 0.5)
        rows.append((middle, setting))
        for kind, name in enumerate(series):
            y = round(middle + (kind - (len(series) - 1) / 2) * LINE * 0.8 / len(series), 1)
            if name == PAPER:
                if np.isfinite(printed[setting]):
                    marks.append(Mark(_kind(name), y, to_x(printed[setting]), None, None))
                continue
            cell = cells.get((setting, name))
            if cell is not None and np.isfinite(cell):
                ends = (cell.row["ci_low"], cell.row["ci_high"])
                low, high = (to_x(v) if np.isfinite(v) else None for v in ends)
                marks.append(Mark(_kind(name), y, to_x(cell), low, high))
    metric = results.metric(table)
    title = f"{table[:-1].capitalize()} {table[-1]}: {metric_name(metric)}"
    alt = f"{title}. " + _alt(results, table, tracks, list(printed.values()))
    merit = CRITERIA[metric].merit
    better = "" if merit is None else "right" if merit(1.0) > merit(0.0) else "left"
    return Chart(
        f"chart-{table}", title, alt, TOP + LINE * len(settings), rows,
        [(to_x(t), f"{t:g}") for t in ticks], marks, [(_kind(n), n) for n in series], better,
    )  # fmt: skip


def _kind(series: str) -> int:
    """The same look in every panel."""
    return [*KERHRM, BEST, PAPER].index(series)


def _alt(results: Published, table: str, tracks: Sequence[str], printed: Sequence[float]) -> str:
    parts = [f"{m} {span(results.row(table, m))}" for m in tracks]
    return f"{'; '.join(parts)}; the paper's KerHRM {span(printed)}."


def _ticks(low: float, high: float) -> list[float]:
    """Four to seven round numbers around a range."""
    rough = (high - low or abs(high) or 1.0) / 4
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(m for m in (1, 2, 5, 10) if m * power >= rough)
    first, last = np.floor(low / step), np.ceil(high / step)
    return [round(float(n * step), 10) for n in np.arange(first, last + 1)]


@dataclass(frozen=True)
class Interval:
    """A mean and its interval beside zero, in percent of a box's width."""

    x: float
    low: float
    high: float
    zero: float


def intervals(values: np.ndarray) -> list[Interval | None]:
    """Of rows (m, 3) of effect and ends, all on one line; None where a number is not finite."""
    finite = values[np.isfinite(values).all(axis=1)]
    if not len(finite):
        return [None] * len(values)
    to_x = Scale(min(float(finite.min()), 0.0), max(float(finite.max()), 0.0), 3.0, 97.0)
    found: list[Interval | None] = []
    for row in values:
        x, low, high = (to_x(float(v)) for v in row)
        found.append(Interval(x, low, high, to_x(0.0)) if np.isfinite(row).all() else None)
    return found
