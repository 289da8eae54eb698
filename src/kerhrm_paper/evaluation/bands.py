r"""The lowest and the highest mean over constants that the paper does not print.

The paper prints neither alpha, the weight of the penalty, nor lambda, that of the
cosine.  With the constants c = (alpha, lambda) a method has the mean :math:`\bar{v}(c)`
over the seeds, each of which has its mean over a table's settings, as an endpoint.  Its
band over a grid C is

.. math::
    \Bigl[\min_{c \in C} \bar{v}(c) - h, \; \max_{c \in C} \bar{v}(c) + h'\Bigr],

with :math:`h` and :math:`h'` the half widths of these two means' 95 % t intervals.  The
printed mean counts as exact.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from kerhrm_paper.config.endpoints import Endpoints, EndpointTable
from kerhrm_paper.evaluation.endpoint_rows import (
    chosen_rows,
    missing_values,
    part_of,
    printed_numbers,
)
from kerhrm_paper.evaluation.statistics import summarise
from kerhrm_paper.evaluation.tables import (
    METRICS,
    PRINTED_AS,
    PaperValues,
    base_setting,
    notice,
    stand_ins,
)

#: outcome where what is reached depends on constants that the paper does not print
UNPRINTED = "unprinted constants decide"
Summary = Mapping[
    str, float
]  #: of :func:`kerhrm_paper.evaluation.statistics.summarise`
Constants = tuple[float, ...]  #: values in the order of the grid


def columns(spec: Endpoints) -> list[str]:
    """Columns of :func:`bands`, with a pair of them for each constant of the grid."""
    names = [
        "table",
        "part",
        "method",
        "metric",
        "n_settings",
        "n_seeds",
        "n_constants",
    ]
    names += ["paper", "margin"]
    constants = spec.band.grid
    for end in ("lowest", "highest"):
        names.append(end)
        names += [f"{end}_{constant}" for constant in constants]
        names.append(f"{end}_ci_low")
        names.append(f"{end}_ci_high")
    names.append("outcome")
    names.append("reason")
    return names


def bands(
    scores: Mapping[str, pd.DataFrame],
    spec: Endpoints,
    paper: PaperValues,
    mark: str = "",
) -> pd.DataFrame:
    """Find the band of each table, and of each part of it.

    Parameters
    ----------
    scores : mapping of str to DataFrame
        By table that has the grid, of
        :func:`kerhrm_paper.evaluation.scores.score_table`.  The settings' names have
        the constants, as ``r2=0.7,alpha=0.1,cosine_weight=10.0``; constants that are
        not in the grid do not count.
    spec : Endpoints
        Of :func:`kerhrm_paper.config.endpoints.load_endpoints`: ``band`` has the
        ``method``, the ``grid`` and the ``tables``.
    paper : mapping of tuple to float
        The printed numbers, of
        :func:`kerhrm_paper.evaluation.tables.load_paper_values`.
    mark : str
        How the run differs from the published options.

    Returns
    -------
    DataFrame
        Columns :func:`columns`.  ``lowest`` and ``highest`` are means over seeds, each
        with its constants and its 95 % t interval; ``n_constants`` is the size of the
        grid.  ``outcome`` is of :func:`outcome_of`; ``incomplete`` where a seed has no
        value with some constants, as ``reason`` says, and ``not comparable`` where the
        scores are of other sizes than the paper's or of stand-ins for real data.
    """
    method = spec.band.method
    grid = spec.band.grid
    rows = []
    for table, grid_table in spec.band.tables.items():
        if grid_table not in scores:
            continue
        of_grid = scores[grid_table]
        of_table = spec.tables[table]
        metric = of_table.metric
        printed = printed_numbers(paper, table, metric)
        name_in_paper = PRINTED_AS.get(method, method)
        numbers = printed[name_in_paper]
        chosen = chosen_rows(of_grid, method, of_table, spec)
        part_of_setting = part_of(of_table.apart)
        parts = chosen["setting"].map(part_of_setting)
        difference = notice(of_grid, mark)
        for part in ("", *of_table.apart):
            row = {"table": table, "part": part, "method": method}
            row["metric"] = metric
            of_part = chosen[parts == part]
            row |= _band(of_part, of_table, grid, numbers)
            if difference:
                row["outcome"] = "not comparable"
                row["reason"] = difference
            rows.append(row)
    names = columns(spec)
    return pd.DataFrame(rows, columns=names)


def outcome_of(
    lowest: Summary,
    highest: Summary,
    paper: float,
    margin: float,
    higher_is_better: bool,
) -> str:
    """What a band says of the paper's mean.

    Parameters
    ----------
    lowest, highest : mapping
        ``ci_low`` and ``ci_high`` of the lowest and of the highest mean.  The band goes
        from the lower limit of the one to the upper limit of the other.
    paper : float
        The mean of the paper's numbers.
    margin : float
        Size of a difference that counts as none.
    higher_is_better : bool
        Whether a mean above the paper's is better.

    Returns
    -------
    str
        ``reproduced`` if the whole band is within the margin of the paper's mean; else
        ``better`` or ``worse`` if that mean is outside the band; else ``open`` if it is
        inside the intervals of both ends, so that no constants are known to miss it;
        else :data:`UNPRINTED`.
    """
    low = lowest["ci_low"]
    high = highest["ci_high"]
    if paper - margin <= low and high <= paper + margin:
        return "reproduced"
    if paper < low:
        return "better" if higher_is_better else "worse"
    if high < paper:
        return "worse" if higher_is_better else "better"
    is_above_lowest = lowest["ci_high"] < paper
    is_below_highest = paper < highest["ci_low"]
    is_missed = is_above_lowest or is_below_highest
    return UNPRINTED if is_missed else "open"


def _band(
    rows: pd.DataFrame,
    declared: EndpointTable,
    grid: Mapping[str, list[float]],
    printed: Mapping[str, float],
) -> dict[str, Any]:
    """Columns of a band.

    Parameters
    ----------
    rows : DataFrame
        Scores of the method with all constants, in a table or a part of it.
    declared : EndpointTable
        Metric and margin of the table.
    grid : mapping of str to list
        Values of each constant.
    printed : mapping of str to float
        The paper's numbers of the method, by setting.
    """
    tables = _by_constants(rows, grid, printed)
    names = list(grid)
    every_gap = _gaps(tables, printed, names)
    gaps = "; ".join(every_gap)
    if gaps:
        return {"outcome": "incomplete", "reason": f"no value: {gaps}"}
    first, *_ = tables.values()
    in_paper = [base_setting(setting) for setting in first]
    numbers = [printed[setting] for setting in in_paper]
    reference = float(np.mean(numbers))
    margin = declared.margin_at(reference)
    facts: dict[str, Any] = {
        "n_settings": first.shape[1],
        "n_seeds": first.shape[0],
        "n_constants": len(tables),
        "paper": reference,
        "margin": margin,
        "reason": "",
    }
    if stand_ins(rows):
        return facts
    means = []
    for constants, wide in tables.items():
        of_seeds = wide.mean(axis=1)
        means.append((summarise(of_seeds), constants))
    lowest, lowest_at = min(means, key=_mean)
    highest, highest_at = max(means, key=_mean)
    at_lowest = dict(zip(names, lowest_at, strict=True))
    at_highest = dict(zip(names, highest_at, strict=True))
    facts |= _end("lowest", lowest, at_lowest)
    facts |= _end("highest", highest, at_highest)
    metric = METRICS[declared.metric]
    facts["outcome"] = outcome_of(
        lowest,
        highest,
        paper=reference,
        margin=margin,
        higher_is_better=metric.higher_is_better,
    )
    return facts


def _mean(of_constants: tuple[Summary, Constants]) -> float:
    """What constants are ordered by."""
    return of_constants[0]["mean"]


def _by_constants(
    rows: pd.DataFrame, grid: Mapping[str, list[float]], printed: Mapping[str, float]
) -> dict[Constants, pd.DataFrame]:
    """Values (seeds x settings) by constants, of settings with a printed number.

    Where some constants lack a seed or a setting that others have, its values are NaN.
    """
    tables = {}
    seeds: set[Any] = set()
    settings: dict[str, None] = {}
    for constants in product(*grid.values()):
        by_name = dict(zip(grid, constants, strict=True))
        strip = _without(by_name)
        setting = rows["setting"].map(strip)
        named = rows.assign(setting=setting)
        named = named.dropna(subset="setting")
        in_paper = named["setting"].map(base_setting)
        named = named[in_paper.isin([*printed])]
        wide = named.pivot(index="seed", columns="setting", values="value")
        seeds.update(wide.index)
        settings |= dict.fromkeys(wide)
        tables[constants] = wide
    index = sorted(seeds)
    columns = list(settings)
    return {
        constants: wide.reindex(index=index, columns=columns)
        for constants, wide in tables.items()
    }


def _without(constants: Mapping[str, float]) -> Callable[[str], str | None]:
    """Name of a setting without constants; None if the setting has other ones."""
    words = set()
    for name, value in constants.items():
        words.add(f"{name}={float(value)}")

    def strip(setting: str) -> str | None:
        options = setting.split(",")
        if not words <= {*options}:
            return None
        others = [option for option in options if option not in words]
        return ",".join(others)

    return strip


def _gaps(
    tables: Mapping[Constants, pd.DataFrame],
    printed: Mapping[str, float],
    names: list[str],
) -> Iterator[str]:
    """What some constants have no value of.

    ``tables`` are of :func:`_by_constants`; ``names`` are those of the constants.
    """
    for constants, wide in tables.items():
        missing = ", ".join(missing_values(wide, printed))
        if not missing:
            continue
        words = []
        for name, value in zip(names, constants, strict=True):
            words.append(f"{name}={value:g}")
        place = ",".join(words)
        yield f"{missing} at {place}"


def _end(
    end: str, summary: Summary, constants: Mapping[str, float]
) -> dict[str, float]:
    """Columns of the lowest or of the highest mean."""
    found = {
        end: summary["mean"],
        f"{end}_ci_low": summary["ci_low"],
        f"{end}_ci_high": summary["ci_high"],
    }
    for name, value in constants.items():
        found[f"{end}_{name}"] = value
    return found
