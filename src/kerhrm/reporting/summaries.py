"""What the cells of tables come to, as small Markdown tables for notebooks and the README."""

from collections.abc import Sequence

import pandas as pd

from kerhrm.methods.registry import ORACLE, is_headline, position
from kerhrm.reporting.layout import MISSING, SYMBOLS, outcomes
from kerhrm.reporting.tables import headline, metric_name, metrics_of, results_of
from kerhrm.scoring.comparisons import OUTCOMES
from kerhrm.scoring.verdicts import JUDGED


def verdict_counts(cells: pd.DataFrame, by: Sequence[str] = ("metric",)) -> str:
    """How many headline cells of each metric got which verdict, as a Markdown table.

    Beside it how many would agree at half and at twice the margin.  ``by`` names a row.
    """
    judged = headline(cells)
    judged = judged[judged["verdict"] != ""]
    if judged.empty:
        return "The paper prints no number for these cells.\n"
    found = pd.get_dummies(pd.Series(outcomes(judged), index=judged.index), dtype=int)
    found = found[[name for name in SYMBOLS if name in found]]
    found = found.rename(columns=lambda name: f"{SYMBOLS[name]} {name}")
    found["agree at half the margin"] = (judged["margins"] <= 0.5).astype(int)
    found["at twice"] = (judged["margins"] <= 2).astype(int)
    order = {name: number for number, name in enumerate(metrics_of(judged))}
    counts = found.groupby([judged[key] for key in by]).sum()
    counts = counts.sort_index(key=lambda level: level.map(lambda value: order.get(value, value)))
    return counts.rename(index=metric_name).reset_index().to_markdown(index=False) + "\n"


def selection_cost(cells: pd.DataFrame, by: Sequence[str] = ("setting", "method")) -> str:
    """Test result of each selection rule that chose among a method's option sets.

    A Markdown table of the methods that more than one rule chose for, the method's own rule in
    bold and the oracle last; with its seeds where not all rules have as many, as then an oracle
    need not be best.  ``by`` names a row; where ``setting`` is not among its columns,
    the mean over the settings that are compared with the paper and in which each of the method's
    rules has a cell.
    """
    parts = [part[part["metric"].isin(results_of(part))] for _, part in cells.groupby("table")]
    test = pd.concat([cells.head(0), *parts])
    if "setting" not in by:
        judged = cells["verdict"].isin(JUDGED)
        places = pd.MultiIndex.from_frame(cells.loc[judged, ["table", "setting"]])
        test = test[pd.MultiIndex.from_frame(test[["table", "setting"]]).isin(places)]
        rules = test.groupby(["table", "setting", "method", "metric"])["selection"]
        test = test.assign(rules=rules.transform("size"))
        most = test.groupby(["table", "method", "metric"])["rules"].transform("max")
        test = test[test["rules"] == most]
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
    frame["n"] = test.groupby([*keys, "selection"], sort=False)["n_seeds"].max().to_numpy()
    uneven = frame.groupby(keys)["n"].transform("nunique") > 1
    frame.loc[uneven, "text"] += " (n = " + frame["n"].astype(str) + ")"
    wide = frame.pivot(index=keys, columns="selection", values="text").fillna(MISSING)
    wide = wide.reindex(pd.MultiIndex.from_frame(frame[keys].drop_duplicates()))
    wide = wide[sorted(wide.columns, key=lambda rule: (rule == ORACLE, rule))]
    return wide.reset_index().to_markdown(index=False, disable_numparse=True) + "\n"


def comparison_table(compared: pd.DataFrame) -> str:
    """Every pair of methods by setting, from the rows of ``compare_methods``, as Markdown.

    Cells: mean difference, its 95 % interval, the outcome, and the probability of improvement.
    """
    if compared.empty:
        return "No method here is compared with others.\n"
    text = [
        "failed" if row.outcome == "failed" else
        f"{row.difference:+.3f} [{row.ci_low:+.3f}, {row.ci_high:+.3f}]<br>"
        f"{row.outcome}, P = {row.probability:.2f}"
        for row in compared.itertuples(index=False)
    ]  # fmt: skip
    frame = compared.assign(text=text, metric=compared["metric"].map(metric_name))
    keys = ["metric", "method", "baseline"]
    wide = frame.pivot(index=keys, columns="setting", values="text").fillna(MISSING)
    wide = wide.reindex(pd.MultiIndex.from_frame(frame[keys].drop_duplicates()))
    wide = wide[list(dict.fromkeys(frame["setting"]))]
    return wide.reset_index().to_markdown(index=False, disable_numparse=True) + "\n"


def comparison_counts(compared: pd.DataFrame, across: str = "method") -> str:
    """In how many settings which outcome against each baseline, as Markdown.

    Behind it the mean over them of the probability of improvement; ``across`` names a column of
    ``compared`` whose values stand side by side.
    """
    if compared.empty:
        return "No method here is compared with others.\n"
    groups = compared.groupby(["baseline", across], sort=False)
    wide = groups.apply(_count).unstack(across).fillna(MISSING)
    wide = wide.loc[sorted(wide.index, key=position), list(dict.fromkeys(compared[across]))]
    return wide.reset_index().to_markdown(index=False, disable_numparse=True) + "\n"


def _count(compared: pd.DataFrame) -> str:
    counts = compared["outcome"].value_counts()
    found = [f"{counts[name]} {name}" for name in OUTCOMES if name in counts]
    return f"{', '.join(found)}; P = {compared['probability'].mean():.2f}"
