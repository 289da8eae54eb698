"""False alarms of the pre-test where there are no environments, and its power.

Tables ``pretest_draws`` and ``pretest``: parts ``no environments`` (20 kinds of tables,
50 draws each) and ``power`` (five kinds of environments), ``before`` with the credit of
six nats and permutations among all rows that version 0.3 had.  Figure ``pretest``: the
null distribution of p.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from unittest import mock

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pandas import DataFrame

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.heterogeneity import residuals
from kerhrm.heterogeneity.test import test_table
from kerhrm.randomness import stream
from kerhrm_paper.studies.laws import (
    MEAN,
    Law,
    Linear,
    OneHot,
    Points,
    diabetes,
    homogeneous,
    scaled_noises,
    standardised,
)
from kerhrm_paper.studies.noises import Rows
from kerhrm_paper.studies.study import (
    Figures,
    Files,
    Frames,
    RowKey,
    Study,
    Unit,
    detections,
    keyed,
)

OPTIONS = HeterogeneityOptions()
DRAWS = "pretest_draws"
COLUMNS = ["part", "case", "n"]  #: of the summary
NULL = "no environments"  #: name of a part, as the next two
POWER = "power"
POWER_BEFORE = "power before"
#: rows of null tables, by turns
NULL_ROWS = 150, 300, 1000
NULL_SEEDS = 50
#: of curves by their number of rows (Okabe and Ito)
COLOURS = "#0072B2", "#D55E00", "#009E73"
#: number of draws with environments, by rows
POWER_SEEDS = {
    150: 20,
    300: 20,
    600: 20,
    2000: 10,
}


# --- laws -----------------------------------------------------------------------------


def null_laws() -> dict[str, Law]:
    """Laws without environments, by name."""
    laws = homogeneous() | scaled_noises()
    laws["one-hot columns"] = OneHot()
    laws["diabetes"] = diabetes
    return laws


def scaled(rows: Rows) -> Points:
    """A slope is larger in three tenths of the rows."""
    x = rows.normal(6)
    first, *_ = x.T
    hidden = rows.hidden(0.3)
    slope = np.where(hidden, 2.0, 0.0)
    noise = 0.5 * rows.noise()
    return x, x @ MEAN + slope * first + noise


def three(rows: Rows) -> Points:
    """A slope is -2, 0 or 2."""
    x = rows.normal(6)
    _, _, third, *_ = x.T
    slopes = np.array([-2.0, 0.0, 2.0])
    environment = rows.random.integers(3, size=rows.n)
    slope = slopes[environment]
    noise = 0.5 * rows.noise()
    signal = x @ MEAN + slope * third
    return x, signal + noise


def anticausal(rows: Rows) -> Points:
    """Two inputs are made by the target, with the other sign in a fifth of the rows."""
    causes = rows.normal(3)
    noise = 0.5 * rows.noise()
    y = causes.sum(1) + noise
    hidden = rows.hidden(0.2)
    sign = np.where(hidden, -1.0, 1.0)
    signal = sign * y
    noises = 0.7 * rows.normal(2)
    effects = signal[:, None] + noises
    x = np.column_stack([causes, effects])
    return x, y


def selected(rows: Rows) -> Points:
    """An input without effect follows the target, or its opposite in a fifth of the
    rows, by selection as in Table 3 (r = 1.5)."""
    candidates = Rows(rows.random, 40 * rows.n)
    causes = candidates.normal(5)
    noise = 0.3 * candidates.noise()
    signal = causes @ MEAN[:5]
    y = signal + noise
    v = candidates.noise()
    hidden = candidates.hidden(0.2)
    sign = np.where(hidden, -1.0, 1.0)
    expected = sign * v
    distance = np.abs(y - expected)
    exponent = -5 * distance
    chance = 1.5**exponent
    kept = candidates.hidden(chance)
    accepted = np.flatnonzero(kept)
    chosen = accepted[: rows.n]
    x = np.column_stack([causes, v])
    return x[chosen], y[chosen]


ENVIRONMENTS: dict[str, Law] = {
    "20% flipped": Linear(flipped=0.2, sd=0.5),
    "scaled slope": scaled,
    "three environments": three,
    "anticausal": anticausal,
    "selection bias": selected,
}


# --- units ----------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawKey(RowKey):
    """First columns of the row of a draw."""

    table = DRAWS

    part: str
    case: str
    n: int
    seed: int


def units(files: Files) -> Iterator[Unit]:
    """A unit for each table that is drawn and tested."""
    for case, law in null_laws().items():
        for seed in range(NULL_SEEDS):
            n = NULL_ROWS[seed % 3]
            if case == "diabetes":
                n = min(n, 400)
            key = DrawKey(NULL, case, n, seed)
            yield key.unit(partial(tested, law, key))
    for n, seeds in POWER_SEEDS.items():
        for case, law in ENVIRONMENTS.items():
            for seed in range(seeds):
                for part in (POWER, POWER_BEFORE):
                    key = DrawKey(part, case, n, seed)
                    yield key.unit(partial(tested, law, key))


def tested(law: Law, key: DrawKey) -> DataFrame:
    """What the pre-test says of one draw, inputs standardised."""
    n = key.n
    case = key.case.replace("/", "by")
    words = "pretest", case, str(n)
    random = stream(key.seed, *words)
    rows = Rows(random, n)
    x, y = law(rows)
    x = standardised(x)
    options = OPTIONS
    alike = residuals.ALIKE
    if key.part == POWER_BEFORE:
        credit = {"min_gain": 6 / n**0.5}
        options = OPTIONS.model_copy(update=credit)
        alike = n + 1
    with mock.patch.object(residuals, "ALIKE", alike):
        test = test_table(x, y, options)
    gain = float(test.gain)
    row = {
        "gain": round(gain, 5),
        "p_value": round(test.p_value, 5),
        "detected": test.detected,
    }
    return DataFrame([row])


# --- results --------------------------------------------------------------------------


def summaries(drawn: Frames) -> Frames:
    """How often environments were detected."""
    draws = drawn[DRAWS]
    is_null = draws["part"] == NULL
    nulls = draws[is_null]
    rows = []
    by_case = nulls.groupby("case", sort=False)
    for case, group in by_case:
        key = keyed(COLUMNS, (NULL, case, "any"))
        counts = detections(group)
        rows.append(key | counts)
    for n, group in nulls.groupby("n"):
        key = keyed(COLUMNS, (NULL, "all", n))
        counts = detections(group)
        rows.append(key | counts)
    key = keyed(COLUMNS, (NULL, "all", "any"))
    counts = detections(nulls)
    rows.append(key | counts)
    others = draws[~is_null]
    by_part = others.groupby(COLUMNS, sort=False)
    for values, group in by_part:
        key = keyed(COLUMNS, values)
        counts = detections(group)
        rows.append(key | counts)
    summary = DataFrame(rows)
    summary = summary.round(4)
    return {"pretest": summary}


def figures(tables: Frames) -> Figures:
    """The share of p-values up to p where there are no environments.

    A table with too little to test has none, and counts as p = 1.
    """
    draws = tables[DRAWS]
    is_null = draws["part"] == NULL
    nulls = draws[is_null]
    size = (4.5, 3.4)
    figure = Figure(size, layout="constrained")
    axis = figure.subplots()
    colours = iter(COLOURS)
    for n, group in nulls.groupby("n"):
        if len(group) > NULL_SEEDS:  # not the 400 rows of diabetes
            p_values = group["p_value"]
            p_values = p_values.fillna(1.0)
            colour = next(colours)
            axis.ecdf(p_values, color=colour)
            below_one = (p_values < 1).mean()
            _name(axis, f"{n} rows", (0.99, below_one), colour)
    grey = "0.42"
    axis.plot([0, 1], [0, 1], color=grey, linestyle="--")
    _name(axis, "uniform p-values ", (0.7, 0.7), grey)
    level = OPTIONS.level
    axis.axvline(level, color=grey, linestyle=":", linewidth=1)
    axis.text(level, 0.97, f" level {level:g}", color=grey, va="top")
    axis.set_xlabel("p-value of the pre-test")
    axis.set_ylabel("share of null tables with at most this p-value")
    axis.set_xlim(0, 1.005)  # room for the step at 1
    return {"pretest": figure}


def _name(axis: Axes, name: str, end: tuple[float, float], colour: str) -> None:
    """A curve's name, left of and above a point of it."""
    axis.annotate(
        name,
        end,
        (0, 3),
        textcoords="offset points",
        ha="right",
        color=colour,
    )


STUDY = Study(
    units=units,
    summaries=summaries,
    figures=figures,
)
