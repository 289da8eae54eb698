"""Methods of tables, ranked by the paper's metric and by the worst environment."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kerhrm_paper.config.spelling import unselected
from kerhrm_paper.config.views import Cell
from kerhrm_paper.evaluation import statistics
from kerhrm_paper.evaluation.crossed import of_independent_seeds
from kerhrm_paper.evaluation.tables import METRICS, primary, where
from kerhrm_paper.reporting.run import Run
from kerhrm_paper.runs.limited import TIMED_OUT

#: the paper's metric of a table, and the worst one
PAIRS = (("test_acc", "worst_acc"), ("mean_error", "worst_error"), ("mse", ""))
COLUMNS = [
    "table",
    "method",
    "metric",
    "mean",
    "ci_low",
    "ci_high",
    "rank",
    "worst_metric",
    "worst",
    "worst_low",
    "worst_high",
    "worst_rank",
    "n_methods",
    "n_settings",
    "n_seeds",
    "seconds",
    "timed_out",
    "reason",
]
#: columns of whole numbers, which may be missing
COUNTS = ("rank", "worst_rank", "n_methods", "n_settings", "n_seeds")
REFERENCE = "ref: "  #: what titles begin with that are no method's
BY_ENVIRONMENT = "shift"  #: kind of tables of which others have the ranks
FEWEST = 3  #: seeds, for an interval that says something
#: seconds of a fit by data and learner
Costs = Mapping[Cell, float]


def ranks(
    run: Run,
    kinds: Mapping[str, str],
    titles: Sequence[str],
    costs: Costs,
    limit: float = float("nan"),
) -> pd.DataFrame:
    """Rank the methods of each table by their means over its settings.

    Parameters
    ----------
    run : Run
        With scores and tables.
    kinds : mapping of str to str
        Kinds of the tables by name; tables by environment (kind ``shift``) have no
        ranks, as Tables 1 and 4 hold the same methods.
    titles : sequence of str
        Of the method that competes.
    costs : mapping of (str, str) to float
        Seconds of a fit by data and learner.
    limit : float
        Seconds that a fit of the method that competes may take.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; rank 1 is the best.  ``seconds`` of a method of which
        a fit has ``timed_out`` are the limit.  Methods count that have the
        settings of the one that competes; a setting counts if half of all methods are
        in it.  A table in which no other method has them is left out.  A method without
        a value in one of them has a reason and no rank.
    """
    rows: list[dict[str, Any]] = []
    for table, kind in kinds.items():
        if kind == BY_ENVIRONMENT:
            continue
        ranked = _of_table(run, table, titles, costs)
        for row in ranked:
            if row["timed_out"]:
                row["seconds"] = limit
        methods = {row["method"] for row in ranked}
        if not methods.issubset(titles):
            rows += ranked
    counts = dict.fromkeys(COUNTS, "Int64")
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype(counts)


def unranked(kinds: Mapping[str, str], ranked: Collection[str]) -> dict[str, str]:
    """Why tables have no ranks, by their names.

    Parameters
    ----------
    kinds : mapping of str to str
        Kinds of all tables by name.
    ranked : collection of str
        Tables that have ranks.
    """
    reasons = {}
    for table, kind in kinds.items():
        if table in ranked:
            continue
        reasons[table] = "no other method is in the settings of this one"
        if kind == BY_ENVIRONMENT:
            text = "it shows each test environment by itself, Tables 1 and 4 rank them"
            reasons[table] = text
    return reasons


def failures(run: Run, table: str, titles: Sequence[str]) -> dict[str, str]:
    """Why the method that competes lacks values in a table, by its title."""
    scores = run.scores(table)
    scores = scores[primary(scores)]
    found = {}
    for title in titles:
        of_title = where(scores, method=title)
        if reason := _reason(of_title):
            found[title] = reason
    return found


def _of_table(
    run: Run, table: str, titles: Sequence[str], costs: Costs
) -> list[dict[str, Any]]:
    every = run.scores(table)
    scores = shared(every, titles)
    methods = scores["method"]
    is_reference = methods.str.startswith(REFERENCE)
    scores = of_independent_seeds(scores[primary(scores) & ~is_reference])
    metrics = set(scores["metric"])
    metric, worst = next(pair for pair in PAIRS if pair[0] in metrics)
    n_settings = scores["setting"].nunique()
    known = _without_late(costs, every)
    rows = []
    by_method = scores.groupby("method", sort=False)
    for method, of_method in by_method:
        values = where(of_method, metric=metric)
        worst_values = where(of_method, metric=worst)
        summary = _summary(values)
        of_worst = _summary(worst_values)
        rows.append(
            {
                "table": table,
                "method": method,
                "metric": metric,
                "mean": summary["mean"],
                "ci_low": summary["ci_low"],
                "ci_high": summary["ci_high"],
                "worst_metric": worst,
                "worst": of_worst["mean"],
                "worst_low": of_worst["ci_low"],
                "worst_high": of_worst["ci_high"],
                "n_settings": n_settings,
                "n_seeds": summary["n_seeds"],
                "seconds": _seconds(of_method, known),
                "timed_out": bool(_is_late(of_method).any()),
                "reason": _reason(of_method),
            }
        )
    frame = pd.DataFrame(rows)
    frame["n_methods"] = len(frame)
    frame["rank"] = _ranked(frame["mean"], metric)
    worst_metric = worst or metric
    frame["worst_rank"] = _ranked(frame["worst"], worst_metric)
    frame = frame.sort_values(["rank", "worst_rank"], na_position="last")
    return frame.to_dict("records")


def shared(scores: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """Scores in the settings that have ranks, of the methods that are in all of them.

    References stay, as far as they are in these settings.
    """
    methods = scores["method"]
    is_reference = methods.str.startswith(REFERENCE)
    settings = _settings(scores[primary(scores) & ~is_reference], titles)
    is_ranked = scores["setting"].isin(settings)
    scores = scores[is_ranked]
    own = scores[primary(scores)]
    numbers = own.groupby("method")["setting"].nunique()
    complete = numbers.index[numbers == len(settings)]
    methods = scores["method"]
    is_complete = methods.isin(complete) | methods.str.startswith(REFERENCE)
    return scores[is_complete]


def _settings(scores: pd.DataFrame, titles: Sequence[str]) -> list[str]:
    """Settings of the method that competes that half of all methods have."""
    by_setting = scores.groupby("setting", sort=False)
    methods = by_setting["method"].agg(set)
    n_methods = scores["method"].nunique()
    own = []
    common = []
    for setting in methods.index:
        of_setting = methods[setting]
        if of_setting.isdisjoint(titles):
            continue
        own.append(setting)
        if 2 * len(of_setting) >= n_methods:
            common.append(setting)
    return common or own


def _summary(values: pd.DataFrame) -> dict[str, float | int]:
    """Mean over seeds of a method's means over settings; its interval, unless they are
    too few."""
    if values.empty:
        return statistics.summarise([float("nan")])
    wide = values.pivot(index="seed", columns="setting", values="value")
    of_seeds = wide.mean(axis=1, skipna=False)
    summary = statistics.summarise(of_seeds)
    if summary["n_seeds"] < FEWEST:
        summary["ci_low"] = summary["ci_high"] = float("nan")
    return summary


def _ranked(means: pd.Series, metric: str) -> pd.Series:
    """Ranks from 1, the best; means that are equal but for rounding share one."""
    merit = METRICS[metric].merit
    assert merit is not None
    rounded = means.round(10)
    merits = merit(rounded)
    return merits.rank(ascending=False, method="min")


def _seconds(rows: pd.DataFrame, costs: Costs) -> float:
    """Mean seconds of a fit over the data; NaN where they are not known."""
    pairs = zip(rows["data"], rows["learner"], strict=True)
    cells = set(pairs)
    known = [costs[cell] for cell in cells if cell in costs]
    if not known:
        return float("nan")
    return sum(known) / len(known)


def _is_late(rows: pd.DataFrame) -> pd.Series:
    """Whether the fit of a row of scores took too long."""
    reasons = rows["reason"].astype(str)
    return reasons.str.startswith(TIMED_OUT)


def _without_late(costs: Costs, scores: pd.DataFrame) -> Costs:
    """Costs but those of learners of which, by any criterion, a fit took too long: the
    job's seconds are then of the limit, and of fewer fits than were asked for."""
    late = scores[_is_late(scores)]
    names = late["learner"].map(unselected)
    left_out = set(zip(late["data"], names, strict=True))
    known = {}
    for (data, learner), seconds in costs.items():
        if (data, unselected(learner)) not in left_out:
            known[data, learner] = seconds
    return known


def _reason(rows: pd.DataFrame) -> str:
    """Why seeds have no value: the first reason of each setting."""
    is_missing = rows["value"].isna()
    failed = rows[is_missing]
    failed = failed.drop_duplicates("setting")
    by_reason = failed.groupby("reason", sort=False)
    settings = by_reason["setting"].agg(", ".join)
    texts = []
    for reason, named in settings.items():
        what = reason or "no value"
        texts.append(f"{what} ({named})")
    return "; ".join(texts)


# --- cost ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Fits:
    """The fits behind a row of scores.

    Attributes
    ----------
    data, learner : str
        Names of the row.
    trained : str
        The learner's name that was trained.
    number : int
        Of the replicates.
    """

    data: str
    learner: str
    trained: str
    number: int


def seconds_a_fit(measured: pd.DataFrame, rows: Sequence[Fits]) -> dict[Cell, float]:
    """Seconds of a fit by data and learner.

    A job trains a learner by several criteria, so that its seconds are shared by the
    fits of all of them.

    Parameters
    ----------
    measured : DataFrame
        Of :func:`kerhrm_paper.runs.costs.measured`.
    rows : sequence of Fits
        All that the jobs have trained.
    """
    seconds: dict[Cell, float] = {}
    jobs = zip(measured["place"], measured["seconds"], strict=True)
    for place, took in jobs:
        data, _, rest = str(place).partition("/")
        trained, _, _ = rest.partition("/")
        cell = (data, unselected(trained))
        before = seconds.get(cell, 0.0)
        seconds[cell] = before + took
    cells: dict[Cell, int] = {}
    for row in rows:
        cell = (row.data, row.trained)
        known = cells.get(cell, 0)
        cells[cell] = max(known, row.number)
    totals: dict[Cell, int] = {}
    for (data, trained), number in cells.items():
        cell = (data, unselected(trained))
        counted = totals.get(cell, 0)
        totals[cell] = counted + number
    found: dict[Cell, float] = {}
    for row in rows:
        trained = unselected(row.trained)
        job = (row.data, trained)
        if job in seconds:
            seconds_of_fit = seconds[job] / totals[job]
            found[row.data, row.learner] = seconds_of_fit
    return found
