"""The cells of the paper's tables and figures, each beside the paper's number."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from kerhrm.errors import KerhrmError
from kerhrm.reporting.methods import is_headline, method_named
from kerhrm.reporting.paper import PaperValues
from kerhrm.reporting.statistics import summarise
from kerhrm.reporting.verdicts import verdict

COLUMNS = [
    "table", "setting", "method", "metric", "mean", "std", "n_seeds", "ci_low", "ci_high",
    "paper", "data_source", "selection", "track", "verdict", "reason",
]  # fmt: skip
#: in the order in which a reader meets them
METRIC_NAMES = {
    "test_acc": "test accuracy",
    "train_acc": "training accuracy",
    "generalisation_gap": "generalisation gap (test less training accuracy)",
    "mean_error": "mean error",
    "std_error": "standard deviation of the error",
    "mse": "mean squared error",
    "d_kl": "divergence of P(Y | C) between the learned environments",
}
#: Keys of a setting's name that the paper's name lacks.  The paper has both values of H but
#: does not say which one a number belongs to, so that both are compared with it.  Marks
#: are variants of ours, beside which the paper's number stands for orientation; beside a
#: yardstick it does not stand.
UNNAMED, MARKS, YARDSTICKS = (
    frozenset({"H"}),
    frozenset({"k", "clip", "weights", "metric", "price"}),
    frozenset({"colour"}),
)


def build_table(
    scores: pd.DataFrame, table: str, preset: str, paper: PaperValues, resamples: int
) -> pd.DataFrame:
    """Summarise per-seed scores and judge them.

    A cell is comparable with the paper's number if it was measured at preset ``paper``, not
    on a stand-in's data, in a setting without a mark, and chosen by the method's own rule.

    Parameters
    ----------
    scores : DataFrame
        Rows of :mod:`kerhrm.reporting.scores`, as :func:`read_scores` gives them.
    table : str
        ``table1``, ``figure2``, ...
    preset : str
    paper : PaperValues
        Never shown beside another preset's or a stand-in's numbers.
    resamples : int
        Of the bootstrap interval.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; rows in the order in which settings, methods and metrics
        first appear.

    Raises
    ------
    KerhrmError
        If a row's method is not in :mod:`kerhrm.reporting.methods`, or a seed stands in
        a cell twice.
    """
    keys = ["setting", "method", "metric", "data_source", "selection"]
    twice = scores[scores.duplicated([*keys, "seed"])]
    if len(twice):
        raise KerhrmError(
            f"{table} has two values of {', '.join(map(str, twice[[*keys, 'seed']].iloc[0]))}",
            "score every predictor once",
        )
    rows = []
    for values, group in scores.groupby(keys, sort=False):
        setting, method, metric, source, selection = values
        printed = paper.lookup(table, base_setting(setting), method, metric)
        same_data = preset == "paper" and not is_stand_in(source)
        own = is_headline(method, selection) and not is_marked(setting)
        numbers = summarise(group["value"].to_numpy(), resamples)
        failed = group["value"].isna()
        rows.append(
            {"table": table, "setting": setting, "method": method, "metric": metric}
            | numbers
            | {
                "n_seeds": len(group),
                "paper": printed if same_data else None,
                "data_source": source,
                "selection": selection,
                "track": method_named(method).track,
                "verdict": verdict(
                    mean=numbers["mean"],
                    ci_low=numbers["ci_low"],
                    ci_high=numbers["ci_high"],
                    paper=printed,
                    metric=metric,
                    comparable=same_data and own,
                    failed=bool(failed.any()),
                ),
                "reason": _reason(group.loc[failed, "reason"], len(group)),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def read_scores(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Per-seed scores of several files; an empty reason is an empty text."""
    return _read(paths, "reason")


def read_table(*paths: str | Path) -> pd.DataFrame:
    """Cells as :func:`build_table` made them, from one or several CSV files."""
    return _read(paths, "verdict", "reason")


def headline(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of scores or cells that each method's own rule chose."""
    own = [is_headline(m, s) for m, s in zip(rows["method"], rows["selection"], strict=True)]
    return rows[own]


def is_stand_in(source: str) -> bool:
    """Whether a data source is a replacement for one that could not be reached."""
    return source.startswith("stand-in:")


def base_setting(setting: str) -> str:
    """The paper's name of a setting: ``r2=0.70,H=I`` is ``r2=0.70``."""
    return ",".join(item for item in setting.split(",") if _key(item) not in UNNAMED | MARKS)


def is_marked(setting: str) -> bool:
    """Whether a setting is ours and not the paper's: ``cmnist,k=extended``."""
    return any(_key(item) in MARKS | YARDSTICKS for item in setting.split(","))


def title(name: str, preset: str, sources: Iterable[str]) -> str:
    """A title that says which preset made the numbers, and names stand-ins."""
    suffix = "" if preset == "paper" else f" [preset {preset}: not for comparison]"
    stand_ins = sorted({s for s in sources if is_stand_in(s)})
    return name + suffix + "".join(f" [{s}, not the real data]" for s in stand_ins)


def _read(paths: Iterable[str | Path], *texts: str) -> pd.DataFrame:
    frame = pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
    # a column of empty texts reads as one of missing numbers
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in texts})


def _reason(reasons: Sequence[str], n_seeds: int) -> str:
    if not len(reasons):
        return ""
    distinct = "; ".join(dict.fromkeys(reason or "no value" for reason in reasons))
    return f"{distinct} ({len(reasons)} of {n_seeds} seeds)"


def _key(item: str) -> str:
    return item.partition("=")[0]
