"""What the cells of tables come to, as small Markdown tables for notebooks and the README."""

from collections.abc import Sequence

import pandas as pd

from kerhrm.methods.registry import ORACLE, is_headline
from kerhrm.reporting.layout import MISSING, SYMBOLS
from kerhrm.reporting.tables import headline, metric_name, metrics_of, results_of


def verdict_counts(cells: pd.DataFrame) -> str:
    """How many headline cells of each metric got which verdict."""
    judged = headline(cells)
    judged = judged[judged["verdict"] != ""]
    if judged.empty:
        return "The paper prints no number for these cells.\n"
    counts = pd.crosstab(judged["metric"], judged["verdict"])
    wide = counts.reindex(index=metrics_of(judged), columns=[v for v in SYMBOLS if v in counts])
    wide = wide.rename(index=metric_name, columns=lambda verdict: f"{SYMBOLS[verdict]} {verdict}")
    return wide.rename_axis(index="metric").reset_index().to_markdown(index=False) + "\n"


def selection_cost(cells: pd.DataFrame, by: Sequence[str] = ("setting", "method")) -> str:
    """Test result of each selection rule that chose among a method's candidates.

    A Markdown table of the methods that more than one rule chose for, the method's own rule in
    bold and the oracle last.  ``by`` names a row; where ``setting`` is not among its columns,
    the mean over the settings that are compared with the paper.
    """
    parts = [part[part["metric"].isin(results_of(part))] for _, part in cells.groupby("table")]
    test = pd.concat([cells.head(0), *parts])
    if "setting" not in by:
        judged = cells["verdict"].isin(["reproduced", "better", "worse"])
        places = pd.MultiIndex.from_frame(cells.loc[judged, ["table", "setting"]])
        test = test[pd.MultiIndex.from_frame(test[["table", "setting"]]).isin(places)]
    several = test.groupby(["table", "setting", "method", "metric"])["selection"].transform("size")
    test = test.assign(result=test["metric"].map(metric_name))[several > 1]
    if test.empty:
        return "Every method was chosen by one rule alone.\n"
    keys = [*by, "result"]
    # a failed cell leaves no mean: that of the others would not be the method's
    means = test.groupby([*keys, "selection"], sort=False)["mean"]
    frame = means.agg(lambda values: values.mean(skipna=False)).reset_index()
    texts = frame["mean"].map("{:.3f}".format).replace("nan", "failed")
    own = [is_headline(m, s) for m, s in zip(frame["method"], frame["selection"], strict=True)]
    frame["text"] = texts.mask(own, "**" + texts + "**")
    wide = frame.pivot(index=keys, columns="selection", values="text").fillna(MISSING)
    wide = wide.reindex(pd.MultiIndex.from_frame(frame[keys].drop_duplicates()))
    wide = wide[sorted(wide.columns, key=lambda rule: (rule == ORACLE, rule))]
    return wide.reset_index().to_markdown(index=False, disable_numparse=True) + "\n"
