"""Whether the words of a figure can be read where a page shows it."""

from itertools import combinations

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from kerhrm_paper.reporting import figures

COLUMN = 400 / 96  #: inches; a column of 400 pixels in a browser
LEAST = 6.0  #: points of a letter there
SLACK = 1.0  #: points; lines of text may share that much
GAP = 2.5  #: points between words of a line


def drawn_words(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Texts that a figure draws, with their boxes on the canvas in points.

    Labels of ticks outside an axis are no part of it.
    """
    words: list[tuple[Text, Bbox]] = []
    draw = Text.draw

    def recorded(text: Text, renderer: object) -> None:
        draw(text, renderer)
        is_blank = not text.get_text().strip()
        if text.get_visible() and not is_blank:
            box = Text.get_window_extent(text, renderer)
            words.append((text, box))

    with figures.style(), mpl.rc_context({"figure.dpi": 72}):
        figure.set_dpi(72)
        canvas = FigureCanvasAgg(figure)
        Text.draw = recorded
        try:
            canvas.draw()  # constrained layout moves the axes in the first draw
            words.clear()
            canvas.draw()
        finally:
            Text.draw = draw
    return words


def assert_legible(figure: Figure) -> None:
    """No text is small in a column, leaves the canvas, or covers another one."""
    words = drawn_words(figure)
    shrinks = COLUMN / figure.get_figwidth()
    small = []
    for text, _ in words:
        size = text.get_size() * shrinks
        if size < LEAST:
            small.append(text.get_text())
    assert small == []
    width, height = figure.get_size_inches() * 72
    outside = []
    for text, box in words:
        too_low = min(box.x0, box.y0) < -SLACK
        too_wide = box.x1 > width + SLACK
        too_high = box.y1 > height + SLACK
        if too_low or too_wide or too_high:
            outside.append(text.get_text())
    assert outside == []
    covered = []
    for (text, box), (other, other_box) in combinations(words, 2):
        if _overlap(box, other_box):
            covered.append((text.get_text(), other.get_text()))
    assert covered == []


def _overlap(box: Bbox, other: Bbox) -> bool:
    """Whether two texts run together: of one line, and no space between them."""
    right = min(box.x1, other.x1)
    left = max(box.x0, other.x0)
    top = min(box.y1, other.y1)
    bottom = max(box.y0, other.y0)
    width = right - left
    height = top - bottom
    return width > -GAP and height > SLACK
