r"""One test for each method and table: does it have the mean that the paper prints?

Of seed s the value is the mean :math:`\bar{v}_s` of the metric over the table's J
settings, so that seeds are the units, however their settings depend on each other.  The
endpoint is

.. math::
    \bar{v} - \bar{p}, \qquad
    \text{standard error } \hat\sigma \sqrt{\frac{1}{n} + \frac{1}{r}},

with :math:`\bar{p}` the mean of the printed numbers of these settings,
:math:`\hat\sigma` the standard deviation of the :math:`\bar{v}_s` (ddof = 1), n seeds,
and r the runs that a printed number is the mean of.  The interval is Student's with n -
1 degrees of freedom.

How the paper's runs scatter is not printed.  Here they are assumed to scatter as ours
do.  The columns ``*_exact`` assume the other extreme, that the printed mean has no
error at all (1 / r = 0): of Table 4 the paper omits it as "relatively small".

A method with constants that the paper does not print has a band of means in place of
one, see :mod:`kerhrm_paper.evaluation.bands`; where it is known the outcome follows it.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from kerhrm_paper.config.endpoints import Endpoints, EndpointTable
from kerhrm_paper.evaluation.effects import (
    NAN,
    NO_EFFECT,
    Decision,
    Effect,
    against,
    decide,
)
from kerhrm_paper.evaluation.endpoint_rows import (
    chosen_rows,
    missing_values,
    part_of,
    printed_numbers,
)
from kerhrm_paper.evaluation.statistics import LEVEL, holm, summarise
from kerhrm_paper.evaluation.tables import (
    METRICS,
    PRINTED_AS,
    PaperValues,
    base_setting,
    notice,
    stand_ins,
    where,
)

COLUMNS = [
    "table",
    "part",
    "method",
    "selection",
    "metric",
    "n_settings",
    "n_seeds",
    "paper",
    "mean",
    "lowest",
    "highest",
    "difference",
    "ci_low",
    "ci_high",
    "p",
    "p_holm",
    "margin",
    "detectable",
    "outcome",
    "ci_low_exact",
    "ci_high_exact",
    "p_exact",
    "p_holm_exact",
    "outcome_exact",
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
    spec: Endpoints,
    paper: PaperValues,
    mark: str = "",
    band: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Test every method's mean over each table's settings against the paper's.

    Parameters
    ----------
    scores : mapping of str to DataFrame
        By table, of :func:`kerhrm_paper.evaluation.scores.score_table`; rows that the
        method's own selection criterion has chosen count.
    spec : Endpoints
        Of :func:`kerhrm_paper.config.endpoints.load_endpoints`.
    paper : mapping of tuple to float
        The printed numbers, of
        :func:`kerhrm_paper.evaluation.tables.load_paper_values`.
    mark : str
        How the run differs from the published options.
    band : DataFrame, optional
        Of :func:`kerhrm_paper.evaluation.bands.bands`.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`.  ``part`` names settings that have rows of their own;
        ``selection`` is what chose the rows: of baselines the criterion
        ``baselines_by``, else the method's own.  ``p`` is of no difference, ``p_holm``
        corrected over the rows of the ``family``, of the whole tables alone;
        ``detectable`` is the difference that the test finds with a power of 80 %.
        ``outcome``: ``reproduced``, the 95 % interval is inside the margin; else
        ``better`` or ``worse`` at 5 %, in the family after Holm's correction; else
        ``open``.  ``incomplete``: a seed has no value, as ``reason`` says, and the row
        has no numbers.  ``not comparable``: the scores are of other sizes than the
        paper's, or of stand-ins for real data, which have no numbers either.  A row
        that ``band`` has an outcome for has that one under both assumptions, and in
        ``lowest`` and ``highest`` the ends of its means; its other numbers are of the
        constants that validation has picked.
    """
    rows: list[dict[str, Any]] = []
    effects = []
    exact_effects = []
    for table, declared in spec.tables.items():
        if table not in scores:
            continue
        printed = printed_numbers(paper, table, declared.metric)
        part_of_setting = part_of(declared.apart)
        parts = ("", *declared.apart)
        for part, method in product(parts, spec.methods):
            name_in_paper = PRINTED_AS.get(method, method)
            numbers = printed.get(name_in_paper)
            if method in declared.without or numbers is None:
                continue
            of_table = scores[table]
            chosen = chosen_rows(of_table, method, declared, spec)
            parts_of_rows = chosen["setting"].map(part_of_setting)
            chosen = chosen[parts_of_rows == part]
            facts, (effect, exact) = _endpoint(chosen, declared, numbers)
            row = {"table": table, "part": part, "method": method}
            rows.append(row | facts)
            effects.append(effect)
            exact_effects.append(exact)
    in_family = []
    for row in rows:
        is_whole = not row["part"]
        in_family.append(is_whole and row["method"] in spec.family)
    _decide(rows, effects, in_family, "")
    _decide(rows, exact_effects, in_family, "_exact")
    for row in rows:
        of_table = scores[row["table"]]
        difference = notice(of_table, mark)
        if difference:
            row["outcome"] = row["outcome_exact"] = "not comparable"
            row["reason"] = difference
        elif band is not None and "mean" in row:
            _follow(row, band)
    return pd.DataFrame(rows, columns=COLUMNS)


def _decide(
    rows: Sequence[dict[str, Any]],
    effects: Sequence[Effect],
    in_family: Sequence[bool],
    ending: str,
) -> None:
    """Add the corrected p-values and the outcomes of one assumption to the rows."""
    p_of_family = []
    for effect, is_corrected in zip(effects, in_family, strict=True):
        p_of_family.append(effect.p if is_corrected else NAN)
    corrected = holm(p_of_family)
    for row, effect, is_corrected, p_holm in zip(
        rows, effects, in_family, corrected, strict=True
    ):
        metric = METRICS[row["metric"]]
        decision = decide(
            effect,
            margin=row.get("margin"),
            p=p_holm if is_corrected else effect.p,
            higher_is_better=metric.higher_is_better,
        )
        row[f"p_holm{ending}"] = p_holm
        row[f"outcome{ending}"] = OUTCOMES[decision]


def _follow(row: dict[str, Any], band: pd.DataFrame) -> None:
    """Give a row the ends and the outcome of its band, if that has any."""
    of_row = where(band, table=row["table"])
    of_row = where(of_row, part=row["part"], method=row["method"])
    has_none = of_row["outcome"].isin(["incomplete", "not comparable"])
    with_outcome = of_row[~has_none]
    for known in with_outcome.to_dict("records"):
        row["lowest"] = known["lowest"]
        row["highest"] = known["highest"]
        row["outcome"] = known["outcome"]
        row["outcome_exact"] = known["outcome"]


def _endpoint(
    rows: pd.DataFrame, declared: EndpointTable, printed: Mapping[str, float]
) -> tuple[dict[str, Any], tuple[Effect, Effect]]:
    """The test of a method in a table, or in a part of it.

    Parameters
    ----------
    rows : DataFrame
        Scores of the method that count.
    declared : EndpointTable
        Metric, margin and runs of the table.
    printed : mapping of str to float
        The paper's numbers of the method, by setting.

    Returns
    -------
    facts : dict
        Columns of its row.
    effects : tuple of Effect
        Difference from the paper, whose runs scatter as ours or not at all; without
        numbers where a value is missing.
    """
    none = (NO_EFFECT, NO_EFFECT)
    criteria = dict.fromkeys(rows["selection"])
    facts: dict[str, Any] = {
        "metric": declared.metric,
        "reason": "",
        "selection": ", ".join(criteria),
    }
    wide = rows.pivot(index="seed", columns="setting", values="value")
    settings = []
    numbers = []
    for setting in dict.fromkeys(rows["setting"]):
        number = printed.get(base_setting(setting))
        if number is not None:
            settings.append(setting)
            numbers.append(number)
    wide = wide.reindex(columns=settings)
    missing = "; ".join(missing_values(wide, printed))
    if missing:
        facts["reason"] = f"no value: {missing}"
        return facts, none
    reference = np.array(numbers).mean()
    means = wide.mean(axis=1).to_numpy()
    facts["n_settings"] = len(numbers)
    facts["n_seeds"] = len(means)
    facts["paper"] = reference
    facts["margin"] = declared.margin_at(reference)
    if stand_ins(rows):
        return facts, none
    summary = summarise(means)
    std = summary["std"]
    error = std / declared.runs**0.5
    effect = against(means, reference, error)
    exact = against(means, reference, 0.0)
    facts |= effect.columns()
    facts["mean"] = summary["mean"]
    facts["detectable"] = _detectable(std, len(means), error)
    facts["ci_low_exact"] = exact.low
    facts["ci_high_exact"] = exact.high
    facts["p_exact"] = exact.p
    return facts, (effect, exact)


def _detectable(std: float, n: int, error: float) -> float:
    """Difference that the test finds with a power of 80 %.

    ``std`` is over n seeds, ``error`` the standard error of the paper's mean.
    """
    n_free = n - 1
    t = float(special.stdtrit(n_free, 1 - LEVEL / 2))
    t_power = float(special.stdtrit(n_free, POWER))
    of_mean = std / n**0.5
    standard_error = float(np.hypot(of_mean, error))
    return (t + t_power) * standard_error
