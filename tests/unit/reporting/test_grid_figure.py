"""The figure of the algorithm as printed over the constants that are not printed."""

from itertools import product

import pandas as pd
import pytest
from matplotlib.container import ErrorbarContainer

from kerhrm_paper.reporting.grid_figure import grid, is_grid

ALPHAS = 0.1, 1.0, 10.0
WEIGHTS = 10.0, 100.0


def cells(n_bases: int) -> pd.DataFrame:
    rows = []
    for base, alpha, weight in product(range(n_bases), ALPHAS, WEIGHTS):
        mean = base / 10 + alpha / 100 + weight / 1000
        low = mean - 0.02
        high = mean + 0.03
        setting = f"r2=0.{base},alpha={alpha},cosine_weight={weight}"
        row = (setting, "KerHRM (as printed)", mean, low, high)
        rows.append(row)
    for base, mean in enumerate([0.8, 0.6]):
        bound = (f"r2=0.{base}", "ref: invariant ceiling", mean, mean, mean)
        rows.append(bound)
    columns = ["setting", "method", "mean", "ci_low", "ci_high"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(metric="test_acc", selection="as released", n_seeds=10)


def test_a_line_has_the_means_of_its_lambda_over_alpha() -> None:
    figure = grid(cells(2))
    first, second = figure.axes
    for weight, bar in zip(WEIGHTS, second.containers, strict=True):
        assert isinstance(bar, ErrorbarContainer)
        line, _, (segments,) = bar
        assert line is not None
        means = [0.1 + alpha / 100 + weight / 1000 for alpha in ALPHAS]
        assert line.get_ydata() == pytest.approx(means)
        intervals = segments.get_segments()
        for interval, mean in zip(intervals, means, strict=True):
            heights = interval[:, 1]
            assert heights == pytest.approx([mean - 0.02, mean + 0.03])
    for axis, mean in zip((first, second), (0.8, 0.6), strict=True):
        (bound,) = [line for line in axis.lines if line.get_linestyle() == "-."]
        assert list(bound.get_ydata()) == [mean, mean]
    (legend,) = figure.legends
    entries = [text.get_text() for text in legend.get_texts()]
    assert entries == ["lambda = 10", "lambda = 100", "bound of the invariant features"]


@pytest.mark.parametrize(("n_bases", "panels"), [(1, (1, 1)), (4, (2, 2)), (6, (2, 3))])
def test_panels_fill_their_rows(n_bases: int, panels: tuple[int, int]) -> None:
    figure = grid(cells(n_bases))
    specs = figure.axes[0].get_gridspec()
    assert (specs.nrows, specs.ncols) == panels


def test_only_settings_with_both_constants_are_a_grid() -> None:
    assert is_grid(cells(1))
    others = cells(1).assign(setting="r2=0.8,alpha=0.1")
    assert not is_grid(others)
