"""Colours: contrast, and what is left of their differences for colour-blind readers."""

from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest

from kerhrm.reporting.figures import CURVES, METHODS
from kerhrm.reporting.style import COLOURS, LINES, MARKERS, look_of

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


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_stand_out_from_white(colour: str) -> None:
    assert contrast(colour, "white") >= 3


def test_neighbours_stand_out_from_each_other() -> None:
    drawn = [look_of(method).colour for method in METHODS]
    for one, other in (*pairwise((*COLOURS, COLOURS[0])), *pairwise(drawn)):
        assert contrast(one, other) >= 3
    assert contrast(*(CURVES[name][1].colour for name in ("train_acc", "test_acc"))) >= 3


@pytest.mark.parametrize("vision", VISION)
def test_no_two_colours_look_alike(vision: str) -> None:
    for one, other in combinations(COLOURS, 2):
        assert ciede2000(lab(one, vision), lab(other, vision)) > 15, (one, other)


def test_without_colours_markers_and_lines_tell_methods_apart() -> None:
    looks = [look_of(method) for method in METHODS]
    assert len({look.marker for look in looks}) == len({look.dashes for look in looks}) == 7
    assert len(set(MARKERS)) == len(set(LINES)) == len(COLOURS)
