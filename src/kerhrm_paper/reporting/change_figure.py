"""Results of a method as it is and with each change, by setting."""

import textwrap
from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.tables import RESULTS, primary, where
from kerhrm_paper.reporting.figures import (
    METHODS,
    REFERENCES,
    WIDTH,
    entry,
    finish,
    intervals,
    line_entry,
    name_rows,
    style,
    subplots,
)
from kerhrm_paper.reporting.selection_figure import ABSENT
from kerhrm_paper.reporting.setting_words import in_lines, setting_in_words
from kerhrm_paper.reporting.tables import TITLES
from kerhrm_paper.reporting.version_figure import LEVEL_LINE

BLUE = METHODS["KerHRM"]
ORANGE = METHODS["JTT"]
#: of KerHRM's outputs: label, colour and marker
OUTPUTS = {
    "KerHRM": ("network", BLUE, "o"),
    "KerHRM (linear predictor)": ("linear predictor", ORANGE, "D"),
}
#: methods that are lines, in panels of accuracies and of errors
LINES = {
    "ERM": ("ERM", "--"),
    "ref: invariant ceiling": REFERENCES["ref: invariant ceiling"],
    "ref: predict zero": REFERENCES["ref: predict zero"],
    "ref: least squares on S": REFERENCES["ref: least squares on S"],
}
ROW = 0.31  #: inches
LINE_HEIGHT = 0.15  #: inches, of a line of a row's name
NAME, TITLE = 22, 9  #: characters of a line of a row's name, of a panel's title
FEW = 2  #: panels that are wide
WIDE = 36  #: characters of a line of a row's name beside few panels
OTHER_LOOK = ("black", "s")  #: of methods that no change is of


class _Rows:
    """Rows of the figure: changes of one method's outputs, then other methods.

    Attributes
    ----------
    outputs : dict
        Look of the methods that the changes are of, as in :data:`OUTPUTS`.
    changes : list of str
        The first one is no change, which has the method's name.
    methods : list of str
        Others, one row each.
    """

    def __init__(self, cells: pd.DataFrame) -> None:
        methods = []
        for method in dict.fromkeys(cells["method"]):
            is_reference = "ref:" in method
            if method not in LINES and not is_reference:
                methods.append(method)
        self.outputs = OUTPUTS
        if "KerHRM" not in methods:
            first = methods[0]
            self.outputs = {first: ("", BLUE, "o")}
        main, *_ = self.outputs
        changed = dict.fromkeys(cells["change"])
        named = filter(None, changed)
        self.changes = [main, *named]
        self.methods = [method for method in methods if method not in self.outputs]

    def names(self, width: int) -> list[str]:
        """Of all rows, from top to bottom, in lines of so many characters."""
        names = [*self.changes, *self.methods]
        return [in_lines(setting_in_words(name), width) for name in names]

    def height(self, method: str, change: str) -> float | None:
        """Of a cell; None for methods that are lines."""
        if method in self.outputs:
            row = self.changes.index(change) if change else 0
            # outputs of one change are next to each other
            names = list(self.outputs)
            number = names.index(method)
            n_outputs = len(self.outputs)
            twice_from_centre = 2 * number - n_outputs + 1
            shift = 0.15 * twice_from_centre
            return float(row) + shift
        if method in self.methods:
            number = self.methods.index(method)
            return len(self.changes) + number
        return None


def parted(settings: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Each setting as a base and its change, which is empty for the base.

    The base is the shortest setting that another one goes on from, else the first
    option.

    Examples
    --------
    >>> parted(["r=1,s=2", "r=1,s=2,T=1", "r=3,T=1"])["r=1,s=2,T=1"]
    ('r=1,s=2', 'T=1')
    >>> parted(["r=3,T=1"])
    {'r=3,T=1': ('r=3', 'T=1')}
    """
    every_setting = sorted(set(settings), key=len)
    parts = {}
    for setting in every_setting:
        first, _, _ = setting.partition(",")
        is_base = any(other.startswith(f"{setting},") for other in every_setting)
        candidates = [setting] if is_base else [first]
        shorter = [s for s in every_setting if setting.startswith(f"{s},")]
        base, *_ = shorter + candidates
        change = setting.removeprefix(base)
        parts[setting] = base, change.removeprefix(",")
    return parts


def changes(cells: pd.DataFrame) -> Figure:
    """Result of KerHRM, else of the first method, as it is and with each change, by
    setting."""
    cells = cells[primary(cells)]
    metrics = set(cells["metric"])
    metric = next(name for name in RESULTS if name in metrics)
    settings = cells["setting"]
    parts = parted(settings)
    bases_of_cells = [parts[setting][0] for setting in settings]
    changes_of_cells = [parts[setting][1] for setting in settings]
    cells = cells.assign(base=bases_of_cells, change=changes_of_cells)
    cells = where(cells, metric=metric)
    rows = _Rows(cells)
    bases = list(dict.fromkeys(cells["base"]))
    n_panels = len(bases)
    names = rows.names(WIDE if n_panels <= FEW else NAME)
    numbers = [name.count("\n") + 1 for name in names]
    n_lines = max(numbers)
    row_height = max(ROW, LINE_HEIGHT * n_lines)
    height = 1.4 + row_height * len(names)
    with style():
        size = (WIDTH, height)
        figure, axes = subplots(1, n_panels, figsize=size, sharex=True, sharey=True)
        panels = zip(axes.flat, bases, strict=True)
        for axis, base in panels:
            of_base = where(cells, base=base)
            _draw_levels(axis, of_base)
            _draw_cells(axis, of_base, rows)
            words = setting_in_words(base)
            words = textwrap.fill(words, TITLE if n_panels > 1 else NAME)
            axis.set_title(plain(words))
            axis.grid(axis="x")
            axis.locator_params(axis="x", nbins=3 if n_panels > 1 else 8)
            if metric.endswith("acc"):
                axis.set_xlim(0, 1)
                axis.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        first_axis = axes.flat[0]
        name_rows(first_axis, names)
        title = TITLES.get(metric, metric)
        heading = f"{title}; bars: {intervals(cells)}"
        entries = _entries(cells, rows)
        finish(figure, entries, heading=heading, columns=2)
    return figure


def _entries(cells: pd.DataFrame, rows: _Rows) -> list[Line2D]:
    """Entries of the legend."""
    entries = []
    for label, colour, marker in rows.outputs.values():
        if label:
            mark = entry(label, colour, marker)
            entries.append(mark)
    drawn = set(cells["method"])
    for method, (label, line) in LINES.items():
        if method in drawn:
            entries.append(line_entry(label, line))
    return entries


def _draw_levels(axis: Axes, cells: pd.DataFrame) -> None:
    for method, (_, line) in LINES.items():
        levels = where(cells, method=method)
        for level in levels["mean"]:
            axis.axvline(level, linestyle=line, **LEVEL_LINE)


def _draw_cells(axis: Axes, cells: pd.DataFrame, rows: _Rows) -> None:
    """The mean of every cell, with its interval, and which rows have none."""
    absent = set(range(len(rows.changes) + len(rows.methods)))
    for cell in cells.itertuples():
        method = str(cell.method)
        change = str(cell.change)
        y = rows.height(method, change)
        if y is None:
            continue
        absent.discard(round(y))
        colour, marker = OTHER_LOOK
        if method in rows.outputs:
            _, colour, marker = rows.outputs[method]
        interval = [cell.ci_low, cell.ci_high]
        heights = [y, y]
        axis.plot(interval, heights, color=colour, linewidth=1)
        axis.plot(cell.mean, y, marker, color=colour, markersize=3)
    transform = axis.get_yaxis_transform()
    for row in absent:
        axis.text(0.5, row, "not run", transform=transform, **ABSENT)
