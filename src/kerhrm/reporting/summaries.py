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
    return (
        wide.rename_axis(index="metric", columns=None).reset_index().to_markdown(index=False) + "\n"
    )


def selection_cost(cells: pd.DataFrame, by: Sequence[str] = ("setting", "method")) -> str:
    """Test result of each selection rule that chose among a method's candidates.

    Parameters
    ----------
    cells : DataFrame
        Cells of one or several tables.
    by : sequence of str
        Columns that name a row; where ``setting`` is not among them, the mean over the settings
        that are compared with the paper.

    Returns
    -------
    str
        A Markdown table of the methods that more than one rule chose for, the method's own
        rule in bold and the oracle last.
    """
    parts = [part[part["metric"].isin(results_of(part))] for _, part in cells.groupby("table")]
    test = pd.concat([cells.head(0), *parts])
    if "setting" not in by:
        judged = cells["verdict"].isin(["reproduced", "better", "worse"])
        places = set(zip(cells["table"][judged], cells["setting"][judged], strict=True))
        test = test[[p in places for p in zip(test["table"], test["setting"], strict=True)]]
    several = test.groupby(["table", "setting", "method", "metric"])["selection"].transform("size")
    test = test.assign(result=test["metric"].map(metric_name))[several > 1]
    if test.empty:
        return "Every method was chosen by one rule alone.\n"
    keys = [*by, "result"]
    texts = []
    for (*key, rule), group in test.groupby([*keys, "selection"], sort=False):
        # a failed cell leaves no mean: that of the others would not be the method's
        mean = group["mean"].mean(skipna=False)
        text = "failed" if pd.isna(mean) else f"{mean:.3f}"
        own = is_headline(group["method"].iloc[0], rule)
        texts.append((*key, rule, f"**{text}**" if own else text))
    frame = pd.DataFrame(texts, columns=[*keys, "rule", "text"])
    wide = frame.pivot(index=keys, columns="rule", values="text").fillna(MISSING)
    wide = wide.reindex(pd.MultiIndex.from_frame(frame[keys].drop_duplicates()))
    wide = wide[sorted(wide.columns, key=lambda rule: (rule == ORACLE, rule))]
    return wide.reset_index().to_markdown(index=False, disable_numparse=True) + "\n"
