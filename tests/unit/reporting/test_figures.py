"""Figures: the numbers drawn are the tables', names are text, colours stand apart."""

from itertools import combinations, pairwise
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from kerhrm.paper.reporting import figures
from kerhrm.paper.reporting.figures import COLOURS, CURVES, LINES, MARKERS, METHODS, look_of
from kerhrm.paper.reporting.run import Run, primary
from tests.unit.reporting.conftest import cells_of

REFERENCE = Run(Path(__file__).parents[3] / "results" / "reference")
#: kinds of vision: of all cones, and without one (Machado, Oliveira & Fernandes 2009, severity 1)
VISION = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip


@pytest.fixture(autouse=True)
def _closed() -> object:
    plt.switch_backend("agg")
    yield None
    plt.close("all")


def linear(colour: str) -> np.ndarray:
    c = np.array(mpl.colors.to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """WCAG 2."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, vision: str) -> np.ndarray:
    seen = np.clip(np.asarray(VISION[vision]) @ linear(colour), 0, 1)
    x = XYZ @ seen / [0.95047, 1.0, 1.08883]
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one: np.ndarray, other: np.ndarray) -> float:
    """Distance of two colours in L*, a*, b*."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    g = 1.5 - 0.5 * np.sqrt(c7 / (c7 + 25.0**7))
    c1, c2 = np.hypot(g * a1, b1), np.hypot(g * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, g * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    h = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 + sum(w * np.cos(np.radians(n * h + s)) for w, n, s in
                ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63)))  # fmt: skip
    dl = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * chroma)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    c7 = chroma**7
    angle = np.radians(60 * np.exp(-(((h - 275) / 25) ** 2)))
    rotation = -2 * np.sqrt(c7 / (c7 + 25.0**7)) * np.sin(angle)
    return float(np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh))


def test_the_distance_is_that_of_published_pairs() -> None:
    """Sharma, Wu & Dalal 2005, table 1."""
    for one, other, expected in (
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (50, 3.2592, 0.335), 1.0),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ):
        assert ciede2000(np.array(one), np.array(other)) == pytest.approx(expected, abs=1e-4)


def test_colours_stand_out_from_white_and_neighbours() -> None:
    assert all(contrast(colour, "white") >= 3 for colour in COLOURS)
    drawn = [look_of(method).colour for method in METHODS[:7]]
    for one, other in (*pairwise((*COLOURS, COLOURS[0])), *pairwise(drawn)):
        assert contrast(one, other) >= 3
    assert contrast(*(CURVES[name][1].colour for name in ("train_acc", "test_acc"))) >= 3


@pytest.mark.parametrize("vision", VISION)
def test_no_two_colours_look_alike(vision: str) -> None:
    for one, other in combinations(COLOURS, 2):
        assert ciede2000(lab(one, vision), lab(other, vision)) > 15, (one, other)


def test_without_colours_markers_and_lines_distinguish_methods() -> None:
    looks = [look_of(method) for method in METHODS[:7]]
    assert len({look.marker for look in looks}) == len({look.line for look in looks}) == 7
    assert len(set(MARKERS)) == len(set(LINES)) == len(COLOURS)
    assert len({look_of(method) for method in METHODS}) == len(METHODS)


def test_figure_2_draws_the_means_of_its_table() -> None:
    cells = REFERENCE.cells("figure2")
    axes = figures.figure2(cells, ceiling=0.8).axes
    lines = {line.get_label(): line for line in axes[0].get_lines()}
    rows = cells[(cells["method"] == "KerHRM (linear predictor)") & (cells["metric"] == "test_acc")]
    assert lines["test accuracy"].get_ydata() == pytest.approx(rows["mean"].to_numpy())
    assert lines["test accuracy"].get_xdata().tolist() == list(range(7))


def test_figure_3_draws_means_and_intervals_of_every_period() -> None:
    cells = REFERENCE.cells("figure3")
    axis = figures.figure3(cells).axes[0]
    bars = {bar.get_label(): bar for bar in axis.containers}
    assert set(bars) == set(METHODS[:7])
    own = cells[primary(cells) & ~cells["setting"].str.contains(",")]
    for method, bar in bars.items():
        rows = own[own["method"] == method]
        assert bar[0].get_ydata() == pytest.approx(rows["mean"].to_numpy())
        ends = np.array([segment[:, 1] for segment in bar[2][0].get_segments()])
        assert ends == pytest.approx(rows[["ci_low", "ci_high"]].to_numpy())


def test_every_seed_is_drawn(scores: pd.DataFrame) -> None:
    figure = figures.seeds(scores, cells_of(scores, "t"))
    drawn = sorted(
        x for axis in figure.axes for line in axis.get_lines() if line.get_alpha()
        for x in line.get_xdata()
    )  # fmt: skip
    assert drawn == pytest.approx(sorted(scores[primary(scores)]["value"]))


def test_failed_seeds_are_counted(scores: pd.DataFrame) -> None:
    scores.loc[(scores["method"] == "KerHRM") & (scores["seed"] == 1), "value"] = np.nan
    figure = figures.seeds(scores, cells_of(scores, "t"))
    texts = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert "1 of 3 seeds failed" in texts


def test_effects_are_those_of_the_choices() -> None:
    choices = REFERENCE.choices()
    figure = figures.effects(choices)
    assert [axis.get_title() for axis in figure.axes] == list(dict.fromkeys(choices["data"]))
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert set(names) <= set(choices["alternative"])


@pytest.mark.parametrize("name", ["fee_$_to_$", "price_$/m^2_in_$", "a$b", "$50K_to_$75K"])
def test_dollars_are_no_mathematics(tmp_path: Path, scores: pd.DataFrame, name: str) -> None:
    named = scores.assign(setting=scores["setting"] + name, method=scores["method"] + name)
    figures.save(figures.seeds(named, cells_of(named, "t"), name), tmp_path / "f")


def test_the_same_figure_is_the_same_bytes_and_the_backend_stays(
    tmp_path: Path, scores: pd.DataFrame
) -> None:
    plt.ion()
    for stem in ("a", "b=1.5"):
        figures.save(figures.seeds(scores, cells_of(scores, "t")), tmp_path / stem)
    assert plt.isinteractive()
    for ending in ("png", "pdf"):
        one, other = (tmp_path / f"{stem}.{ending}" for stem in ("a", "b=1.5"))
        assert one.read_bytes() == other.read_bytes()
