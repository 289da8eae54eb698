"""False alarms of the pre-test where there are no environments, and its power.

Tables ``pretest_draws`` and ``pretest``: parts ``no environments`` (20 kinds of tables,
50 draws each) and ``power`` (five kinds of environments), ``before`` with the credit of
six nats and permutations among all rows that version 0.3 had.  Figure ``pretest``: the
null distribution of p.
"""

from collections.abc import Iterator
from functools import partial as part
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import binomtest

from kerhrm.algorithm.options import HeterogeneityOptions
from kerhrm.heterogeneity import residuals
from kerhrm.heterogeneity.test import test_table
from kerhrm.randomness import stream
from studies.common import Unit
from studies.heterogeneity import (
    NOISES,
    SCALES,
    TARGETS,
    Law,
    Points,
    Random,
    diabetes,
    linear,
    one_hot,
    target,
)

OPTIONS = HeterogeneityOptions()
MEAN = np.array([1.0, -1.0, 0.5, 0.5, 0.0, 0.0])  #: coefficients of six inputs


def _null_kinds() -> dict[str, Law]:
    kinds: dict[str, Law] = {
        f"{noise} noise": part(linear, noise=noise) for noise in NOISES
    }
    kinds |= {name: part(target, of=of) for name, of in TARGETS.items()}
    for scale in [*SCALES][1:]:
        for noise in ("Gaussian", "exponential"):
            law = part(linear, noise=noise, scale=scale)
            kinds[f"{noise} noise, {scale}"] = law
    return kinds | {"one-hot columns": one_hot, "diabetes": diabetes}


def scaled(random: Random, n: int) -> Points:
    """A slope is larger in three tenths of the rows."""
    x, hidden = random.standard_normal((n, 6)), random.random(n) < 0.3
    slope = np.where(hidden, 2.0, 0.0)
    return x, x @ MEAN + slope * x[:, 0] + 0.5 * random.standard_normal(n)


def three(random: Random, n: int) -> Points:
    """A slope is -2, 0 or 2."""
    x = random.standard_normal((n, 6))
    slope = np.array([-2.0, 0.0, 2.0])[random.integers(3, size=n)]
    return x, x @ MEAN + slope * x[:, 2] + 0.5 * random.standard_normal(n)


def anticausal(random: Random, n: int) -> Points:
    """Two inputs are made by the target, with the other sign in a fifth of the rows."""
    causes = random.standard_normal((n, 3))
    y = causes.sum(1) + 0.5 * random.standard_normal(n)
    sign = np.where(random.random(n) < 0.2, -1.0, 1.0)
    effects = (sign * y)[:, None] + 0.7 * random.standard_normal((n, 2))
    return np.column_stack([causes, effects]), y


def selected(random: Random, n: int) -> Points:
    """An input without effect follows the target, or its opposite in a fifth of the
    rows, by selection as in Table 3 (r = 1.5)."""
    many = 40 * n
    causes = random.standard_normal((many, 5))
    y = causes @ MEAN[:5] + 0.3 * random.standard_normal(many)
    v = random.standard_normal(many)
    sign = np.where(random.random(many) < 0.2, -1.0, 1.0)
    kept = random.random(many) < 1.5 ** (-5 * np.abs(y - sign * v))
    rows = np.flatnonzero(kept)[:n]
    return np.column_stack([causes, v])[rows], y[rows]


ENVIRONMENTS: dict[str, Law] = {
    "20% flipped": part(linear, noise="Gaussian", flipped=0.2, sd=0.5),
    "scaled slope": scaled,
    "three environments": three,
    "anticausal": anticausal,
    "selection bias": selected,
}


def units() -> Iterator[Unit]:
    """Everything that is drawn."""
    for case, law in _null_kinds().items():
        for seed in range(50):
            n = (150, 300, 400 if case == "diabetes" else 1000)[seed % 3]
            key = {"part": "no environments", "case": case, "n": n, "seed": seed}
            yield "pretest_draws", key, part(_drawn, law, case, n, seed)
    for n, draws in {150: 20, 300: 20, 600: 20, 2000: 10}.items():
        for case, law in ENVIRONMENTS.items():
            for seed in range(draws):
                for when in ("power", "power before"):
                    key = {"part": when, "case": case, "n": n, "seed": seed}
                    before = when == "power before"
                    how = part(_drawn, law, case, n, seed, before=before)
                    yield "pretest_draws", key, how


def _drawn(
    law: Law, case: str, n: int, seed: int, *, before: bool = False
) -> pd.DataFrame:
    x, y = law(stream(seed, "pretest", case.replace("/", "by"), str(n)), n)
    x = (x - x.mean(0)) / x.std(0)
    if before:
        options = OPTIONS.model_copy(update={"min_gain": 6 / n**0.5})
        with mock.patch.object(residuals, "ALIKE", n + 1):
            test = test_table(x, y, options)
    else:
        test = test_table(x, y, OPTIONS)
    row = {"gain": round(float(test.gain), 5), "p_value": round(test.p_value, 5)}
    return pd.DataFrame([row | {"detected": test.detected}])


def summaries(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """How often environments were detected, with Clopper and Pearson's interval."""
    draws, rows = drawn["pretest_draws"], []
    nulls = draws[draws["part"] == "no environments"]
    groups = [
        *(((*key, "any"), g) for key, g in nulls.groupby(["part", "case"], sort=False)),
        *((("no environments", "all", n), g) for n, g in nulls.groupby("n")),
        (("no environments", "all", "any"), nulls),
        *draws.drop(nulls.index).groupby(["part", "case", "n"], sort=False),
    ]
    for (kind, case, n), group in groups:
        found, size = int(group["detected"].sum()), len(group)
        interval = binomtest(found, size).proportion_ci()
        rows.append(
            {"part": kind, "case": case, "n": n, "draws": size, "detected": found}
            | {"low": interval.low, "high": interval.high}
        )
    yield "pretest", pd.DataFrame(rows).round(4)


def figures(drawn: dict[str, pd.DataFrame]) -> Iterator[tuple[str, Figure]]:
    """The share of p-values up to p where there are no environments."""
    draws = drawn["pretest_draws"]
    nulls = draws[draws["part"] == "no environments"]
    figure, axis = plt.subplots(figsize=(4.5, 3.4), layout="constrained")
    for n, group in nulls.groupby("n"):
        if len(group) > 50:
            axis.ecdf(group["p_value"].dropna(), label=f"{n} rows")
    axis.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="uniform")
    axis.axvline(OPTIONS.level, color="0.8", linewidth=1)
    axis.set(
        xlabel="p-value of the pre-test", ylabel="share of null tables", xlim=(0, 1)
    )
    axis.legend(loc="upper left")
    yield "pretest", figure
