"""Methods of tables, ranked by the paper's metric and by the worst environment."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kerhrm_paper.config.groups import unselected
from kerhrm_paper.config.views import Cell
from kerhrm_paper.evaluation import statistics
from kerhrm_paper.evaluation.tables import METRICS, primary, where
from kerhrm_paper.reporting.run import Run

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
    "reason",
]
REFERENCE = "ref: "  #: what titles begin with that are no method's
#: seconds of a fit by data and learner, the criterion that selected it left out
Costs = Mapping[Cell, float]


def ranks(
    run: Run, kinds: Mapping[str, str], titles: Sequence[str], costs: Costs
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

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; rank 1 is the best.  Methods count that have the
        settings of the one that competes; a setting counts if half of all methods are
        in it.  A method without a value in one of them has a reason and no rank.
    """
    rows: list[dict[str, Any]] = []
    for table, kind in kinds.items():
        if kind != "shift":
            rows += _of_table(run, table, titles, costs)
    return pd.DataFrame(rows, columns=COLUMNS)


def _of_table(
    run: Run, table: str, titles: Sequence[str], costs: Costs
) -> list[dict[str, Any]]:
    scores = run.scores(table)
    is_trained = ~scores["method"].str.startswith(REFERENCE)
    scores = scores[primary(scores) & is_trained]
    metric, worst = next(pair for pair in PAIRS if pair[0] in {*scores["metric"]})
    settings = _settings(scores, titles)
    scores = scores[scores["setting"].isin(settings)]
    rows = []
    for method, of_method in scores.groupby("method", sort=False):
        if of_method["setting"].nunique() < len(settings):
            continue
        summary = _summary(where(of_method, metric=metric))
        of_worst = _summary(where(of_method, metric=worst))
        rows.append(
            {
                "table": table,
                "method": method,
                "metric": metric,
                **{key: summary[key] for key in ("mean", "ci_low", "ci_high")},
                "worst_metric": worst,
                "worst": of_worst["mean"],
                "worst_low": of_worst["ci_low"],
                "worst_high": of_worst["ci_high"],
                "n_settings": len(settings),
                "n_seeds": summary["n_seeds"],
                "seconds": _seconds(of_method, costs),
                "reason": _reason(of_method),
            }
        )
    frame = pd.DataFrame(rows)
    frame["n_methods"] = len(frame)
    frame["rank"] = _ranked(frame["mean"], metric)
    frame["worst_rank"] = _ranked(frame["worst"], worst or metric)
    frame = frame.sort_values(["rank", "worst_rank"], na_position="last")
    return frame.to_dict("records")


def _settings(scores: pd.DataFrame, titles: Sequence[str]) -> list[str]:
    """Settings of the method that competes that half of all methods have."""
    methods = scores.groupby("setting", sort=False)["method"].agg(set)
    n_methods = scores["method"].nunique()
    own = [setting for setting in methods.index if {*titles} & methods[setting]]
    common = [setting for setting in own if 2 * len(methods[setting]) >= n_methods]
    return common or own


def _summary(values: pd.DataFrame) -> dict[str, float | int]:
    """Mean and interval over seeds of a method's means over settings."""
    if values.empty:
        return statistics.summarise([float("nan")])
    wide = values.pivot(index="seed", columns="setting", values="value")
    return statistics.summarise(wide.mean(axis=1, skipna=False))


def _ranked(means: pd.Series, metric: str) -> pd.Series:
    """Ranks from 1, the best; equal means share the better one."""
    merit = METRICS[metric].merit
    assert merit is not None
    return merit(means).rank(ascending=False, method="min").astype("Int64")


def _seconds(rows: pd.DataFrame, costs: Costs) -> float:
    """Mean seconds of a fit over the data; NaN where they are not known."""
    cells = {(row.data, unselected(row.learner)) for row in rows.itertuples()}
    known = [costs[cell] for cell in cells if cell in costs]
    return sum(known) / len(known) if known else float("nan")


def _reason(rows: pd.DataFrame) -> str:
    """Why seeds have no value: the first reason of each setting."""
    failed = rows[rows["value"].isna()].drop_duplicates("setting")
    settings = failed.groupby("reason", sort=False)["setting"].agg(", ".join)
    texts = []
    for reason, named in settings.items():
        texts.append(f"{reason or 'no value'} ({named})")
    return "; ".join(texts)


# --- cost ----------------------------------------------------------------------------


def seconds_a_fit(
    measured: pd.DataFrame, fits: Mapping[Cell, int]
) -> dict[Cell, float]:
    """Seconds of a fit by data and learner, the criterion that selected it left out.

    Parameters
    ----------
    measured : DataFrame
        Of :func:`kerhrm_paper.runs.costs.measured`.
    fits : mapping of (str, str) to int
        Number of fits of every cell, by data and learner.
    """
    seconds: dict[Cell, float] = {}
    for place, took in zip(measured["place"], measured["seconds"], strict=True):
        data, _, learner = str(place).partition("/")
        learner, _, _ = learner.partition("/")
        if learner:
            cell = (data, unselected(learner))
            seconds[cell] = seconds.get(cell, 0.0) + took
    totals: dict[Cell, int] = {}
    for (data, learner), number in fits.items():
        cell = (data, unselected(learner))
        totals[cell] = totals.get(cell, 0) + number
    return {
        cell: seconds[cell] / number
        for cell, number in totals.items()
        if cell in seconds
    }
