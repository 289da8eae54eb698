"""Summaries of tables: means over the settings, and what each criterion selects."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from kerhrm.methods.base import POOLED, WORST_INFERRED, WORST_TRUE
from kerhrm_paper.config.criteria import DEFAULTS, ORACLE
from kerhrm_paper.evaluation.crossed import means_of_all
from kerhrm_paper.evaluation.endpoint_rows import part_of
from kerhrm_paper.evaluation.tables import RESULTS, WORST, primary
from kerhrm_paper.reporting.tables import results_of

#: order of selection criteria
PANEL = (POOLED, WORST_INFERRED, WORST_TRUE, DEFAULTS, ORACLE)


def answer(cells: pd.DataFrame, endpoints: pd.DataFrame | None = None) -> pd.DataFrame:
    """Mean result of every method over the settings of each of the paper's tables, and
    the paper's.

    ``here`` and ``paper`` are of the metric that the paper prints, ``worst`` is of the
    worst test environment.  Settings that stand apart in ``endpoints`` are left out, so
    that the means are over the settings that are tested.  Tables with a row for each
    test environment are left out: what is printed of them is other papers', and has no
    mean.
    """
    is_of_environment = cells["setting"].str.match(r"\w_test=")
    is_counted = primary(cells) & ~is_of_environment & ~_stands_apart(cells, endpoints)
    cells = cells[is_counted]
    is_printed = cells["paper"].notna()
    printed = cells.loc[is_printed, "table"]
    is_of_paper = cells["table"].isin(printed)
    is_result = cells["metric"].isin(RESULTS)
    rows = cells[is_of_paper & is_result]
    is_worst = rows["metric"].isin(WORST)
    as_printed = rows[~is_worst]
    columns = {
        "here": _by_table(as_printed, "mean"),
        "paper": _by_table(as_printed.dropna(subset=["paper"]), "paper"),
        "worst": _by_table(rows[is_worst], "mean"),
    }
    means = pd.concat(columns, axis=1)
    means = means.reindex(rows["method"].drop_duplicates())
    means = means.swaplevel(axis=1)
    means = means.sort_index(axis=1)
    means = means.rename_axis(None)
    means = means.rename_axis([None, None], axis=1)
    return means.fillna("")


def _by_table(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Means over the settings, by method and table, with three decimals; ``failed``
    where a setting has no value."""
    groups = rows.groupby(["method", "table"], sort=False)
    means = means_of_all(groups[column])
    texts = means.map("{:.3f}".format, na_action="ignore")
    return texts.fillna("failed").unstack("table")


def _stands_apart(cells: pd.DataFrame, endpoints: pd.DataFrame | None) -> pd.Series:
    """Whether the setting of each cell has endpoints of its own in its table."""
    is_apart = pd.Series(False, index=cells.index)
    if endpoints is None:
        return is_apart
    for table, rows in endpoints.groupby("table"):
        part = part_of(rows["part"].unique())
        is_of_table = cells["table"] == table
        is_apart |= is_of_table & (cells["setting"].map(part) != "")
    return is_apart


def criteria(cells: pd.DataFrame) -> pd.DataFrame:
    """Means over the settings by selection criterion, of methods that several have
    chosen for.

    The oracle chooses on test points of other seeds: neither a result nor a bound.  The
    training accuracy next to a test accuracy shows a method that is worse than its
    features allow on both.  NaN where a setting has no value.
    """
    metrics = [*results_of(cells), "train_acc"]
    is_shown = cells["metric"].isin(metrics)
    rows = cells[is_shown]
    by_method = rows.groupby("method")
    n_criteria = by_method["selection"].transform("nunique")
    rows = rows[n_criteria > 1]
    if rows.empty:
        return rows
    order = [*dict.fromkeys(rows["metric"])]
    by_metric = rows.sort_values(
        "metric", key=lambda names: names.map(order.index), kind="stable"
    )
    keys = ["metric", "method", "selection"]
    groups = by_metric.groupby(keys, sort=False)
    means = means_of_all(groups["mean"])
    wide = means.unstack("selection", sort=False)
    return wide[_in_order(wide)]


def hyperparameters(selected: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """What each criterion has selected: a row for each option of a method.

    ``selected`` is of :meth:`~kerhrm_paper.config.config.Config.selected`.  Columns are
    the data set, the method, the option and the criteria, with the selected values.
    """
    keys = ["selected on", "method", "option"]
    rows = []
    for data, method, criterion, options in selected:
        for option in sorted(options):
            value = spelled_value(options[option])
            row = (data, method, option, criterion, value)
            rows.append(row)
    columns = [*keys, "selection", "value"]
    long = pd.DataFrame(rows, columns=columns)
    distinct = long[keys].drop_duplicates()
    # a criterion may have selected options of a method that another one has not
    together = distinct.groupby(keys[:2], sort=False).ngroup()
    distinct = distinct.loc[together.sort_values(kind="stable").index]
    order = pd.MultiIndex.from_frame(distinct)
    wide = long.pivot(index=keys, columns="selection", values="value")
    criteria = _in_order(wide)
    wide = wide.reindex(order)[criteria]
    wide = wide.fillna("").reset_index()
    return wide.rename_axis(None, axis=1)


def without_repeats(rows: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Rows to be read: a key is shown where it, or one before it, changes."""
    shown = {}
    for i, key in enumerate(keys, 1):
        outer = keys[:i]
        above = rows[[*outer]]
        is_same = above == above.shift()
        repeats = is_same.all(axis=1)
        column = rows[key]
        shown[key] = column.mask(repeats, "")
    return rows.assign(**shown)


def _in_order(criteria: Iterable[str]) -> list[str]:
    """Selection criteria in the order of :data:`PANEL`, others behind them."""
    order = [*PANEL, *criteria]
    return sorted(criteria, key=order.index)


def spelled_value(value: Any) -> str:
    """A value of an option; a list of one value as this value.

    Examples
    --------
    >>> spelled_value([25]), spelled_value([0.0, 1.0])
    ('25', '[0, 1]')
    """
    if isinstance(value, list):
        texts = [spelled_value(item) for item in value]
        if len(texts) == 1:
            return texts[0]
        return f"[{', '.join(texts)}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
