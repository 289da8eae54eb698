"""Which figures a table has of its own, by what its settings and methods are."""

import pandas as pd
from matplotlib.figure import Figure

from kerhrm_paper.evaluation.crossed import is_crossed
from kerhrm_paper.evaluation.tables import primary
from kerhrm_paper.reporting import figures
from kerhrm_paper.reporting.auxiliary_figure import auxiliary, is_auxiliary
from kerhrm_paper.reporting.change_figure import changes, parted
from kerhrm_paper.reporting.crossed_figure import crossed
from kerhrm_paper.reporting.grid_figure import grid, is_grid
from kerhrm_paper.reporting.iteration_figure import figure2
from kerhrm_paper.reporting.period_figure import figure3
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.reporting.seed_figure import every_seed
from kerhrm_paper.reporting.shift_figure import is_shift, shift
from kerhrm_paper.reporting.version_figure import VERSIONS, versions

MANY = 6  #: changes that make a table a study of changes
FEW = 10  #: settings of a table whose seeds fit in a figure
TITLE = 0.22  #: inches


def table_figures(run: Run, table: str) -> list[Figure]:
    """All figures of a table, the first of which is published.

    They are its own, and every seed of every method if there are few settings or no
    other figure.
    """
    cells = run.cells(table)
    scores = run.scores(table)
    mark = run.mark(cells)
    drawn = own_figures(cells, scores, mark)
    title = heading(run, table)
    for figure in drawn:
        _entitle(figure, title)
    if not drawn or cells["setting"].nunique() < FEW:
        of_seeds = every_seed(scores, cells, title)
        drawn.append(of_seeds)
    return drawn


def heading(run: Run, table: str) -> str:
    """A table's title, its number in the paper, and how its cells differ from the
    published ones."""
    title = run.title(table)
    number = figures.in_paper(table)
    if number != table:
        title = f"{number}: {title}"
    mark = run.mark(run.cells(table))
    return f"{title}; {mark}" if mark else title


def _entitle(figure: Figure, title: str) -> None:
    """Write a title above a figure, which grows by it."""
    height = figure.get_figheight()
    with figures.style():
        figure.set_figheight(height + TITLE)
        figures.finish(figure, [], title)


def own_figures(
    cells: pd.DataFrame, scores: pd.DataFrame, mark: str = ""
) -> list[Figure]:
    """The figures of a table's own; most tables have none.

    ``mark`` says how the cells differ from the published ones, and stands above every
    figure.
    """
    figure = None
    if _has_own_rows(cells):
        figure = _own_figure(cells, scores, mark)
    if figure is None:
        return []
    with figures.style():
        figures.finish(figure, [], mark)
    return [figure]


def _has_own_rows(cells: pd.DataFrame) -> bool:
    """Whether there is a row that no oracle has chosen, besides those of references."""
    methods = cells["method"]
    is_reference = methods.str.startswith("ref: ")
    is_drawn = primary(cells) & ~is_reference
    return bool(is_drawn.any() or is_reference.all())


def _own_figure(cells: pd.DataFrame, scores: pd.DataFrame, mark: str) -> Figure | None:
    if "seed" in scores and is_crossed(scores):
        return crossed(scores)
    first = str(cells["setting"].iloc[0])
    if first.startswith("iteration="):
        return figure2(cells)
    if first.startswith("period="):
        return figure3(cells, mark)
    if is_auxiliary(cells):
        return auxiliary(cells)
    if is_shift(cells):
        return shift(cells)
    if is_grid(cells):
        return grid(cells)
    parts = parted(cells["setting"])
    changed = {change for _, change in parts.values()}
    if len(changed) > MANY:
        return changes(cells)
    has_accuracies = "test_acc" in set(scores["metric"])
    methods = set(scores.loc[primary(scores), "method"])
    if has_accuracies and methods.issuperset(VERSIONS):
        return versions(scores, cells)
    return None
