"""Crossed seeds: how far data, initial weights and initialisations move a result."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kerhrm.plots.axes import plain
from kerhrm_paper.evaluation.crossed import SEED
from kerhrm_paper.evaluation.tables import primary, where
from kerhrm_paper.reporting.figures import (
    METHODS,
    WIDTH,
    entry,
    finish,
    name_rows,
    style,
    subplots,
)
from kerhrm_paper.reporting.setting_words import setting_in_words
from kerhrm_paper.reporting.tables import TITLES, results_of

#: what has a seed, in words
SOURCES = {
    "data": "data",
    "network": "initial weights",
    "clustering": "initialisations of\nthe clustering",
}
#: colour and marker of methods, in turn
BLUE = METHODS["KerHRM"]
LOOKS = (BLUE, "o"), ("#D55E00", "^"), ("#009E73", "s")


def crossed(scores: pd.DataFrame) -> Figure:
    """Mean result of each seed of a source over the other sources' seeds.

    A panel for each setting, a row for each source: how far the marks of a row are
    apart is what this source alone changes.
    """
    result, *_ = results_of(scores)
    scores = scores[primary(scores)]
    scores = where(scores, metric=result)
    names_of_methods = scores["method"]
    is_reference = names_of_methods.str.startswith("ref: ")
    scores = scores[~is_reference]
    seeds = scores["seed"]
    sources = seeds.str.extract(SEED)
    scores = scores.assign(**sources)
    settings = list(dict.fromkeys(scores["setting"]))
    methods = list(dict.fromkeys(scores["method"]))
    n_panels = len(settings)
    with style():
        size = (WIDTH, 2.6)
        figure, grid = subplots(1, n_panels, figsize=size, sharex=True, sharey=True)
        panels = zip(grid.flat, settings, strict=True)
        for axis, setting in panels:
            of_setting = where(scores, setting=setting)
            _draw_sources(axis, of_setting, methods)
            words = setting_in_words(setting)
            axis.set_title(plain(words))
            axis.grid(axis="x")
            axis.locator_params(axis="x", nbins=4)
        names = list(SOURCES.values())
        name_rows(grid[0, 0], names)
        entries = []
        for number, method in enumerate(methods):
            look = LOOKS[number % len(LOOKS)]
            mark = entry(method, *look)
            entries.append(mark)
        title = TITLES.get(result, result)
        heading = f"{title}; a mark: one seed, mean over the seeds of the other rows"
        finish(figure, entries, heading=heading, columns=2)
    return figure


def _draw_sources(axis: Axes, scores: pd.DataFrame, methods: list[str]) -> None:
    """Means by source, each method at its own height within the row."""
    for number, method in enumerate(methods):
        look = LOOKS[number % len(LOOKS)]
        colour, marker = look
        place = (number + 0.5) / len(methods)
        shift = 0.5 * (place - 0.5)
        of_method = where(scores, method=method)
        for y, source in enumerate(SOURCES):
            by_source = of_method.groupby(source)
            means = by_source["value"].mean()
            height = y + shift
            heights = [height] * len(means)
            lowest = means.min()
            highest = means.max()
            axis.hlines(height, lowest, highest, color=colour, linewidth=1)
            axis.plot(means, heights, marker, color=colour, markersize=4.5)
