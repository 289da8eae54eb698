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

from kerhrm_paper.evaluation.effects import (
    NAN,
    NO_EFFECT,
    Decision,
    Effect,
    against,
    decide,
)
from kerhrm_paper.evaluation.statistics import LEVEL, holm, summarise
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
#: outcome by decision; an effect is unknown where a value is missing
OUTCOMES: Mapping[Decision, str] = {
    "equivalent": "reproduced",
    "better": "better",
    "worse": "worse",
    "undecided": "open",
    "unknown": "incomplete",
}


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
    tests = [
        test
        for table, declared in spec["tables"].items()
        if table in scores
        for method in (*spec["family"], *spec["others"])
        if method not in declared.get("without", ())
        and (test := _endpoint(scores[table], method, table, declared, paper))
    ]
    family = spec["family"]
    corrected = holm(
        [effect.p if row["method"] in family else NAN for row, effect in tests]
    )
    rows = []
    for (row, effect), p_holm in zip(tests, corrected, strict=True):
        decision = decide(
            effect,
            row.get("margin"),
            p=p_holm if row["method"] in family else effect.p,
            higher_is_better=CRITERIA[row["metric"]].higher_is_better,
        )
        rows.append(row | {"p_holm": p_holm, "outcome": OUTCOMES[decision]})
        if why := notice(scores[row["table"]], mark):
            rows[-1] |= {"outcome": "not comparable", "reason": why}
    return pd.DataFrame(rows, columns=COLUMNS)


def _endpoint(
    scores: pd.DataFrame,
    method: str,
    table: str,
    declared: Mapping[str, Any],
    paper: Mapping[tuple[str, ...], float],
) -> tuple[dict[str, Any], Effect] | None:
    """The row of a method in a table, and its effect; None without a printed number."""
    metric, name = declared["metric"], PRINTED_AS.get(method, method)
    printed = {
        setting: number
        for (of_table, setting, *rest), number in paper.items()
        if (of_table, rest) == (table, [name, metric])
    }
    if not printed:
        return None
    row = {"table": table, "method": method, "metric": metric, "reason": ""}
    rows = scores[
        primary(scores) & (scores["method"] == method) & (scores["metric"] == metric)
    ]
    wide = rows.pivot(index="seed", columns="setting", values="value")
    settings = dict.fromkeys(scores["setting"])
    wide = wide.reindex(columns=[s for s in settings if base_setting(s) in printed])
    if missing := "; ".join(_missing(wide, printed)):
        return row | {"reason": f"no value: {missing}"}, NO_EFFECT
    numbers = np.array([printed[base_setting(setting)] for setting in wide])
    reference, means = numbers.mean(), wide.mean(axis=1).to_numpy()
    row |= {
        "n_settings": len(numbers),
        "n_seeds": len(means),
        "paper": reference,
        "margin": declared.get("margin") or declared["relative_margin"] * reference,
    }
    if stand_ins(scores):
        return row, NO_EFFECT
    facts = summarise(means)
    error = facts["std"] / declared["runs"] ** 0.5
    effect = against(means, reference, error)
    row |= effect.columns() | {
        "mean": facts["mean"],
        "detectable": _detectable(facts["std"], len(means), error),
    }
    return row, effect


def _detectable(std: float, n: int, error: float) -> float:
    """Difference that the test finds with a power of 80 %.

    ``std`` is over n seeds, ``error`` the standard error of the paper's mean.
    """
    t, power = (float(special.stdtrit(n - 1, q)) for q in (1 - LEVEL / 2, POWER))
    return (t + power) * float(np.hypot(std / n**0.5, error))


def _missing(wide: pd.DataFrame, printed: Mapping[str, float]) -> Iterator[str]:
    """What is missing of the values (seeds x settings) that the printed numbers ask
    for."""
    measured = {base_setting(setting) for setting in wide}
    for setting in printed:
        if setting not in measured:
            yield f"{setting} (all seeds)"
    for setting, seeds in wide.isna().items():
        if seeds.all():
            yield f"{setting} (all seeds)"
        elif seeds.any():
            yield f"{setting} (seeds {', '.join(map(str, seeds.index[seeds]))})"
