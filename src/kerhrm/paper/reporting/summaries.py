"""What the cells and scores of a table come to, as data frames."""

import pandas as pd

from kerhrm.paper.evaluation.tables import RESULTS, primary
from kerhrm.paper.reporting.tables import COLOURS, results_of


def verdicts(cells: pd.DataFrame) -> pd.DataFrame:
    """How many of the cells that the paper has, too, got each verdict, by method."""
    judged = cells[primary(cells) & (cells["verdict"] != "") & cells["paper"].notna()]
    counts = pd.crosstab(judged["method"], judged["verdict"])
    counts = counts.reindex(list(dict.fromkeys(judged["method"])))
    return counts[[verdict for verdict in COLOURS if verdict in counts]]


def answer(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean result of every method over the settings of each of the paper's tables, and its own.

    Only settings for which the paper has values count where a method has any.
    """
    rows = cells[primary(cells) & cells["metric"].isin(RESULTS)]
    rows = rows[rows["table"].isin(rows.loc[rows["paper"].notna(), "table"])]
    groups = rows.groupby(["method", "table"], sort=False)
    shown = groups.agg(paper=("paper", "mean"), here=("mean", "mean")).unstack("table")
    shown.columns = shown.columns.swaplevel()
    order = [method for method in dict.fromkeys(rows["method"]) if method in shown.index]
    shown = shown.loc[order].sort_index(axis=1).dropna(axis=1, how="all")
    return shown.map(lambda value: "" if pd.isna(value) else f"{value:.3f}")


def criteria(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean result by selection criterion, of methods that several criteria have chosen for.

    The oracle chooses on the test set: a bound, not a result.
    """
    rows = cells[cells["metric"].isin(results_of(cells)[:1])]
    several = rows.groupby("method")["selection"].transform("nunique") > 1
    shown = rows[several]
    wide = shown.pivot(index=["method", "setting"], columns="selection", values="mean")
    order = shown.drop_duplicates(["method", "setting"])[["method", "setting"]]
    return wide.loc[pd.MultiIndex.from_frame(order), list(dict.fromkeys(shown["selection"]))]


def outcomes(comparisons: pd.DataFrame) -> pd.DataFrame:
    """How often a method was better, worse or neither, by metric, method and baseline."""
    keys = ["metric", "method", "baseline"]
    counts = pd.crosstab([comparisons[key] for key in keys], comparisons["outcome"])
    order = comparisons.drop_duplicates(keys)[keys]
    return counts.loc[pd.MultiIndex.from_frame(order)]
