r"""One test for each method and table: does it have the mean that the paper prints?

Of seed s the value is the mean :math:`\bar{v}_s` of the metric over the table's J
settings, so that seeds are the units, however their settings depend on each other.  The
endpoint is

.. math::
    \bar{v} - \bar{p}, \qquad
    \text{standard error } \hat\sigma \sqrt{\frac{1}{n} + \frac{1}{r}},

with :math:`\bar{p}` the mean of the printed numbers of these settings,
:math:`\hat\sigma` the standard deviation of the :math:`\bar{v}_s` (ddof = 1), n seeds,
and r the runs that a printed number is the mean of, which are assumed to scatter as
ours do.  The interval is Student's with n - 1 degrees of freedom.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from kerhrm_paper.evaluation.statistics import LEVEL, holm, summarise, tail
from kerhrm_paper.evaluation.tables import (
    CRITERIA,
    PRINTED_AS,
    base_setting,
    notice,
    primary,
    stand_ins,
)

COLUMNS = [
    "table",
    "method",
    "metric",
    "n_settings",
    "n_seeds",
    "paper",
    "mean",
    "difference",
    "ci_low",
    "ci_high",
    "p",
    "p_holm",
    "margin",
    "detectable",
    "outcome",
    "reason",
]
POWER = 0.8
#: what a row has no number of, if its data are stand-ins
NUMBERS = ["mean", "difference", "ci_low", "ci_high", "p", "detectable"]


def endpoints(
    scores: Mapping[str, pd.DataFrame],
    spec: Mapping[str, Any],
    paper: Mapping[tuple[str, ...], float],
    mark: str = "",
) -> pd.DataFrame:
    """Test every method's mean over each table's settings against the paper's.

    ``scores`` are by table, of :func:`kerhrm_paper.evaluation.scores.score_table`; rows
    that the method's own selection criterion has chosen count.  ``spec`` is the content
    of ``config/endpoints.yaml``, ``paper`` the printed numbers, and ``mark`` the run's.

    Returns columns :data:`COLUMNS`.  ``p`` is of no difference, ``p_holm`` corrected
    over the rows of the ``family``; ``detectable`` is the difference that the test
    finds with a power of 80 %. ``outcome``: ``reproduced``, the 95 % interval is inside
    the margin; else ``better`` or ``worse`` at 5 %, in the family after Holm's
    correction; else ``open``.  ``incomplete``: a seed has no value, as ``reason`` says,
    and the row has no numbers.  ``not comparable``: the scores are of other sizes than
    the paper's, or of stand-ins for real data, which have no numbers either.
    """
    rows = [
        _endpoint(scores[table], method, table, at, paper)
        for table, at in spec["tables"].items()
        if table in scores
        for method in (*spec["family"], *spec["others"])
        if method not in at.get("without", ())
    ]
    found = pd.DataFrame(filter(None, rows), columns=COLUMNS)
    replaced = [table for table, rows in scores.items() if stand_ins(rows)]
    found.loc[found["table"].isin(replaced), NUMBERS] = np.nan
    family = found["method"].isin(spec["family"])
    found.loc[family, "p_holm"] = holm(found.loc[family, "p"].to_numpy(dtype=float))
    decides = found["p_holm"].where(family, found["p"])
    sure = (found["outcome"] == "") & (decides <= LEVEL)
    signs = {name: one.merit(1.0) for name, one in CRITERIA.items() if one.merit}
    merit = found["metric"].map(signs).astype(float)
    better = np.where(found["difference"] * merit > 0, "better", "worse")
    found["outcome"] = found["outcome"].mask(sure, better)
    found.loc[found["outcome"] == "", "outcome"] = "open"
    for table, own in found.groupby("table"):
        if why := notice(scores[str(table)], mark):
            found.loc[own.index, ["outcome", "reason"]] = "not comparable", why
    return found


def _endpoint(
    scores: pd.DataFrame,
    method: str,
    table: str,
    spec: Mapping[str, Any],
    paper: Mapping[tuple[str, ...], float],
) -> dict[str, Any]:
    """The row of a method in a table; empty if the paper prints no number."""
    metric, name = spec["metric"], PRINTED_AS.get(method, method)
    printed = {
        s: v for (t, s, *one), v in paper.items() if (t, one) == (table, [name, metric])
    }
    if not printed:
        return {}
    row = {
        "table": table,
        "method": method,
        "metric": metric,
        "outcome": "",
        "reason": "",
    }
    rows = scores[
        primary(scores) & (scores["method"] == method) & (scores["metric"] == metric)
    ]
    wide = rows.pivot(index="seed", columns="setting", values="value")
    settings = dict.fromkeys(scores["setting"])
    wide = wide.reindex(columns=[s for s in settings if base_setting(s) in printed])
    if missing := "; ".join(_missing(wide, printed)):
        return row | {"outcome": "incomplete", "reason": f"no value: {missing}"}
    numbers = np.array([printed[base_setting(setting)] for setting in wide])
    facts = summarise(wide.mean(axis=1).to_numpy())
    mean, std, n, reference = (
        facts["mean"],
        facts["std"],
        int(facts["n_seeds"]),
        numbers.mean(),
    )
    margin = spec.get("margin") or spec["relative_margin"] * reference
    more = std / spec["runs"] ** 0.5  # standard error of the paper's mean
    error = float(np.hypot(std / n**0.5, more))
    t, power = (float(special.stdtrit(n - 1, q)) for q in (1 - LEVEL / 2, POWER))
    low, high = (mean - reference + side * t * error for side in (-1, 1))
    return row | {
        "n_settings": len(numbers),
        "n_seeds": n,
        "paper": reference,
        "mean": mean,
        "difference": mean - reference,
        "ci_low": low,
        "ci_high": high,
        "margin": margin,
        "p": 2 * tail(abs(mean - reference), std, n, more),
        "detectable": (t + power) * error,
        "outcome": "reproduced" if -margin <= low and high <= margin else "",
    }


def _missing(wide: pd.DataFrame, printed: Mapping[str, float]) -> Iterator[str]:
    """What is missing of the values (seeds x settings) that the printed numbers ask
    for."""
    for setting in printed:
        if not any(base_setting(found) == setting for found in wide):
            yield f"{setting} (all seeds)"
    for setting, seeds in wide.isna().items():
        if seeds.all():
            yield f"{setting} (all seeds)"
        elif seeds.any():
            yield f"{setting} (seeds {', '.join(map(str, seeds.index[seeds]))})"
