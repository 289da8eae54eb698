"""The cells of tables and figures, each beside the paper's number where there is one."""

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerhrm.config.presets import FULL
from kerhrm.errors import KerhrmError
from kerhrm.methods.registry import is_headline, row_titled
from kerhrm.scoring.statistics import summarise
from kerhrm.scoring.verdicts import Measured, judge

if TYPE_CHECKING:
    from kerhrm.reporting.paper import PaperValues

COLUMNS = [
    "table", "setting", "method", "metric", "mean", "std", "n_seeds", "ci_low", "ci_high",
    "paper", "data_source", "selection", "track", "verdict", "reason",
    "direction", "p_agrees", "p_differs", "margins",
]  # fmt: skip
#: columns that may be empty in every row, which pandas would read as missing numbers
TEXTS = ("verdict", "reason", "direction")
#: in the order in which a reader meets them; others follow under their own names
METRIC_NAMES = {
    "test_acc": "test accuracy",
    "train_acc": "training accuracy",
    "generalisation_gap": "generalisation gap (test less training accuracy)",
    "mean_error": "mean error",
    "std_error": "standard deviation of the error",
    "mse": "mean squared error",
    "worst_error": "error in the worst group",
    "overall_error": "error over all test rows",
    "group_error": "error in each group",
    "d_kl": "divergence of P(Y | C) between the learned environments",
}
#: metrics that say how good a method is
RESULTS = ("test_acc", "mean_error", "mse", "worst_error", "overall_error")
#: Keys in a setting's name that the paper's name of it lacks; they tell nothing where the
#: paper prints no number.  It has both values of H but does not say which one a number
#: belongs to: both are compared with it.  It searched k less far: its number stands
#: beside ours for orientation.
UNNAMED, MARKS = frozenset({"H"}), frozenset({"k"})


def build_table(
    scores: pd.DataFrame, table: str, preset: str, paper: "PaperValues"
) -> pd.DataFrame:
    """Summarise per-seed scores and judge them by :func:`kerhrm.scoring.verdicts.judge`.

    A cell is comparable with the paper's number if it was measured at a preset of the paper's
    sizes, not on a stand-in's data, in a setting without a mark, and chosen by the method's own
    rule, and if :meth:`kerhrm.reporting.paper.PaperValues.caveat` has nothing against it.

    Columns are :data:`COLUMNS`: ``reason`` says why a cell has failed or is not comparable, the
    last four are those of :class:`kerhrm.scoring.verdicts.Judgement`.  Rows stand in the order in
    which settings, methods and metrics first appear.

    Parameters
    ----------
    scores : DataFrame
        Rows of :mod:`kerhrm.scoring.scores`, as :func:`read_scores` gives them.
    table : str
        ``table1``, ``figure2``, or any other name.
    paper : PaperValues
        Never shown beside another preset's or a stand-in's numbers.

    Raises
    ------
    KerhrmError
        If a row's method is not in :mod:`kerhrm.methods.registry`, or a seed stands in
        a cell twice.
    """
    keys = ["setting", "method", "metric", "data_source", "selection"]
    twice = scores[scores.duplicated([*keys, "seed"])]
    if len(twice):
        where = ", ".join(map(str, twice[[*keys, "seed"]].iloc[0]))
        raise KerhrmError(f"{table} has two values of {where}", "score every predictor once")
    rows: list[dict[str, Any]] = []
    measured: dict[int, Measured] = {}  # by number of the row
    for values, group in scores.groupby(keys, sort=False):
        cell: dict[str, Any] = dict(zip(keys, values, strict=True))
        method, metric = cell["method"], cell["metric"]
        numbers = summarise(group["value"])
        printed = paper.lookup(table, base_setting(cell["setting"]), method, metric)
        elsewhere = _elsewhere(cell, preset)
        verdict = reason = ""
        if group["value"].isna().any():
            verdict, reason = "failed", _failure(group)
        elif printed is not None:
            reason = elsewhere or _other_choice(cell) or paper.caveat(table, method, metric)
            verdict = "not comparable" if reason else ""
            if not reason:
                spread, runs = numbers["std"], paper.runs(table)
                measured[len(rows)] = Measured(
                    metric, numbers["mean"], spread, len(group), printed, runs
                )
        cell |= numbers | {"table": table, "paper": None if elsewhere else printed}
        cell |= {"track": row_titled(method).track, "verdict": verdict, "reason": reason}
        rows.append(cell | {"direction": ""})
    for number, judgement in zip(measured, judge(list(measured.values())), strict=True):
        rows[number] |= asdict(judgement)
    return pd.DataFrame(rows, columns=COLUMNS)


def read_scores(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Per-seed scores of several files."""
    return read_table(*paths)


def read_table(*paths: str | Path) -> pd.DataFrame:
    """Cells as :func:`build_table` made them, from one or several CSV files."""
    frame = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    texts = [name for name in TEXTS if name in frame]
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in texts})


def headline(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of scores or cells that each method's own rule chose."""
    return rows[list(map(is_headline, rows["method"], rows["selection"]))]


def failures(cells: pd.DataFrame) -> list[str]:
    """One line for every failed cell: table, setting, method with its rule, metric, reason."""
    return [
        f"{c.table} | {c.setting} | {c.method}, {c.selection} | {c.metric}: {c.reason}"
        for c in cells[cells["verdict"] == "failed"].itertuples(index=False)
    ]


def metrics_of(rows: pd.DataFrame) -> list[str]:
    """Metrics of scores or cells: those of :data:`METRIC_NAMES`, then others as they come."""
    found = dict.fromkeys(rows["metric"])
    return [m for m in METRIC_NAMES if m in found] + [m for m in found if m not in METRIC_NAMES]


def results_of(rows: pd.DataFrame) -> list[str]:
    """Metrics of :data:`RESULTS`; where there is none of them, the first one."""
    metrics = metrics_of(rows)
    return [m for m in metrics if m in RESULTS] or metrics[:1]


def metric_name(metric: str) -> str:
    """A metric in words; one that is not in :data:`METRIC_NAMES` as it is."""
    return METRIC_NAMES.get(metric, metric)


def is_stand_in(source: str) -> bool:
    """Whether a data source is a replacement for one that could not be reached."""
    return source.startswith("stand-in:")


def has_key(setting: str, keys: Set[str]) -> bool:
    """Whether one of the keys is in a setting's name: ``k`` is in ``cmnist,k=extended``."""
    return any(item.partition("=")[0] in keys for item in setting.split(","))


def base_setting(setting: str) -> str:
    """The paper's name of a setting: ``r2=0.70,H=I`` is ``r2=0.70``."""
    return ",".join(item for item in setting.split(",") if not has_key(item, UNNAMED | MARKS))


def full_title(title: str, cells: pd.DataFrame, preset: str) -> str:
    """The title over a table's cells, with its number and its :func:`notice`.

    ``table1`` and ``figure2`` are called Table 1 and Figure 2, other names are not shown.
    """
    number = re.fullmatch(r"(table|figure)(\d+)", cells["table"].iloc[0])
    prefix = f"{number[1].capitalize()} {number[2]}: " if number else ""
    return " ".join(filter(None, (prefix + title, notice(cells, preset))))


def notice(cells: pd.DataFrame, preset: str) -> str:
    """What keeps cells from being compared: the preset, if not of the paper's sizes; stand-ins."""
    found = [] if preset in FULL else [f"[preset {preset}: not for comparison]"]
    stand_ins = sorted({source for source in cells["data_source"] if is_stand_in(source)})
    return " ".join([*found, *(f"[{source}, not the real data]" for source in stand_ins)])


def _elsewhere(cell: Mapping[str, Any], preset: str) -> str:
    """Why the paper's number has no place beside a cell's."""
    if preset not in FULL:
        return f"preset {preset}"
    return "stand-in data" if is_stand_in(cell["data_source"]) else ""


def _other_choice(cell: Mapping[str, Any]) -> str:
    """What chose a cell's options otherwise than the paper did."""
    if not is_headline(cell["method"], cell["selection"]):
        return "another selection rule than the method's own"
    marks = [item for item in cell["setting"].split(",") if has_key(item, MARKS)]
    return f"the paper has no {', '.join(marks)}" if marks else ""


def _failure(group: pd.DataFrame) -> str:
    reasons = group.loc[group["value"].isna(), "reason"]
    distinct = "; ".join(dict.fromkeys(reason or "no value" for reason in reasons))
    return f"{distinct} ({len(reasons)} of {len(group)} seeds)"
