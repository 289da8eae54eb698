"""The cells of tables: our mean over seeds, the paper's value, and a verdict by a fixed rule.

``docs/verdicts.md`` explains the rule.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from kerhrm.errors import KerhrmError
from kerhrm.paper.evaluation import statistics
from kerhrm.paper.runs.arrays import reading

JUDGEMENT = ["verdict", "p_agrees", "p_differs", "margins"]
COLUMNS = [
    "table", "setting", "method", "metric", "mean", "std", "n_seeds", "ci_low", "ci_high",
    "paper", "data_source", "selection", "verdict", "reason", *JUDGEMENT[1:],
]  # fmt: skip
#: metrics that say how good a method is
RESULTS = ("test_acc", "worst_acc", "mean_error", "mse")
KEYS = ["setting", "method", "metric", "data_source", "selection"]
#: presets of the paper's sizes
FULL = ("paper", "fresh")
FALLBACK = "fallback:"  #: prefix of the source of synthetic data in place of real ones
#: The paper prints one KerHRM, whose output is Algorithm 1's network; linear predictors have no
#: printed number.
PRINTED_AS = {
    "KerHRM (first iteration)": "KerHRM-s",
    "KerHRM (as printed)": "KerHRM",
    "KerHRM (authors' code)": "KerHRM",
    "ref: ERM on grayscale images": "ref: perfect invariant model",
}
AUTHORS_CODE = "KerHRM (authors' code)"
RUNS, RUNS_OF = 10, {"table4": 5}  #: that a printed number is the mean of
#: Keys in a setting's name that the paper's name of it lacks; they do not matter where the paper
#: prints no number.  It has both values of H but does not say which one a number belongs to: both
#: are compared with it.  It searched k less far: its number is shown for orientation.
UNNAMED, MARKS = frozenset({"H"}), frozenset({"k"})


def primary(cells: pd.DataFrame) -> pd.Series:
    """Whether a row of cells or scores was chosen by its method's own criterion, the first one.

    Rows of other selection criteria and of the oracle follow it.
    """
    keys = [key for key in ("table", "data", "setting", "method", "metric") if key in cells]
    return cells["selection"] == cells.groupby(keys)["selection"].transform("first")


@dataclass(frozen=True)
class Criterion:
    """How a metric is judged."""

    tolerance: float  #: distance that counts as none
    relative: bool  #: whether that is a share of the reference number
    merit: Callable[[Any], Any] | None  #: of numbers or arrays, larger is better; None: neither is

    def margin(self, reference: float) -> float:
        """The tolerance in the metric's own units."""
        return self.tolerance * abs(reference) if self.relative else self.tolerance


#: fixed before the runs that they judge
CRITERIA: Mapping[str, Criterion] = {
    # an accuracy that spurious features raise is no merit
    "train_acc": Criterion(0.02, False, None),
    **dict.fromkeys(("test_acc", "worst_acc"), Criterion(0.02, False, operator.pos)),
    "generalisation_gap": Criterion(0.02, False, lambda gap: -abs(gap)),
    **dict.fromkeys(("mean_error", "error_sd", "mse"), Criterion(0.10, True, operator.neg)),
    "d_kl": Criterion(0.10, True, operator.pos),
}


@dataclass(frozen=True)
class Measured:
    """A cell's statistics over seeds, and the paper's number for it."""

    metric: str
    mean: float
    std: float  #: ddof = 1
    n_seeds: int
    paper: float
    runs: int  #: that the paper's number is the mean of

    @property
    def error(self) -> float:
        """Standard error of the paper's number, whose runs are assumed to spread as ours do."""
        return self.std / self.runs**0.5


def judge(
    cells: Sequence[Measured], criteria: Mapping[str, Criterion] = CRITERIA
) -> list[dict[str, Any]]:
    """Judge the comparable cells of one table: the first of these that applies.

    1. ``reproduced``: the distance of the two means is below the margin of the metric's criterion,
       by two one-sided t tests at 5 %.  It may still be larger than nothing.
    2. ``better``, ``worse`` or, of a metric without merit, ``different``: ours is another mean, by
       a t test at 5 % after Holm's correction over all ``cells``.
    3. ``inconclusive``: too few seeds, for how much they differ.

    Both tests allow for the paper's own error, :attr:`Measured.error`.

    Returns ``verdict``; ``p_agrees`` of a distance of the margin or more; ``p_differs`` of no
    distance, after Holm; ``margins``, the smallest margin at which the verdict is ``reproduced``,
    in units of the fixed one.
    """
    differs = statistics.holm(
        [statistics.different(c.mean, c.std, c.n_seeds, c.paper, c.error) for c in cells]
    )
    judgements = []
    for cell, p_differs in zip(cells, map(float, differs), strict=True):
        margin, merit = criteria[cell.metric].margin(cell.paper), criteria[cell.metric].merit
        facts = cell.mean, cell.std, cell.n_seeds, cell.paper, cell.error
        p_agrees = statistics.equivalence(*facts, margin)
        margins = statistics.smallest_margin(*facts) / margin if margin > 0 else float("inf")
        verdict = "inconclusive"  # as where either p is NaN
        if p_agrees <= statistics.LEVEL:
            verdict = "reproduced"
        elif p_differs <= statistics.LEVEL:
            ours, theirs = (merit(cell.mean), merit(cell.paper)) if merit else (0, 0)
            verdict = "better" if ours > theirs else "worse" if ours < theirs else "different"
        values = verdict, p_agrees, p_differs, margins
        judgements.append(dict(zip(JUDGEMENT, values, strict=True)))
    return judgements


def load_paper_values(path: str | Path) -> dict[tuple[str, ...], float]:
    """Numbers of ``config/paper_values.yaml`` by (table, setting, method as printed, metric)."""
    with reading(path, "restore the file that comes with the repository"):
        return {
            (table, str(setting), method, metric): float(value)
            for table, settings in yaml.safe_load(Path(path).read_text(encoding="utf-8")).items()
            for setting, methods in settings.items()
            for method, metrics in methods.items()
            for metric, value in metrics.items()
        }


def make_table(
    scores: pd.DataFrame,
    table: str,
    preset: str,
    paper: Mapping[tuple[str, ...], float],
) -> pd.DataFrame:
    """Summarise the values of the seeds, and compare them with the paper's numbers.

    A cell is comparable with the paper's number if it was measured at a preset of the paper's
    sizes, not on fallback data, in a setting without a mark, and chosen by the learner's own
    criterion, and if nothing is known against the number itself.

    Returns columns :data:`COLUMNS`; ``reason`` says why a cell has failed or is not comparable.
    Rows are in the order in which settings, methods and metrics first appear.

    Raises KerhrmError if a cell has a seed twice, or other seeds than the setting's other cells of
    its learner.
    """
    _check_seeds(scores, table)
    rows: list[dict[str, Any]] = []
    measured: dict[int, Measured] = {}  # by number of the row
    scores = scores.assign(own=primary(scores))
    for values, group in scores.groupby([*KEYS, "own"], sort=False, dropna=False):
        cell: dict[str, Any] = dict(zip([*KEYS, "own"], values, strict=True))
        numbers, metric = statistics.summarise(group["value"]), cell["metric"]
        name = PRINTED_AS.get(cell["method"], cell["method"])
        printed = paper.get((table, base_setting(cell["setting"]), name, metric))
        fallback = str(cell["data_source"]).startswith(FALLBACK)
        elsewhere = "synthetic fallback data" if fallback else ""
        elsewhere = elsewhere if preset in FULL else f"preset {preset}"
        verdict = reason = ""
        if group["value"].isna().any():
            reasons = group.loc[group["value"].isna(), "reason"]
            distinct = "; ".join(dict.fromkeys(one or "no value" for one in reasons))
            verdict, reason = "failed", f"{distinct} ({len(reasons)} of {len(group)} seeds)"
        elif printed is not None:
            reason = elsewhere or caveat(table, cell)
            verdict = "not comparable" if reason else ""
            if not reason:
                runs = RUNS_OF.get(table, RUNS)
                facts = numbers["mean"], numbers["std"], int(numbers["n_seeds"])
                measured[len(rows)] = Measured(metric, *facts, printed, runs)
        cell |= numbers | {"table": table, "paper": None if elsewhere else printed}
        rows.append(cell | {"verdict": verdict, "reason": reason})
    for number, judgement in zip(measured, judge(list(measured.values())), strict=True):
        rows[number] |= judgement
    return pd.DataFrame(rows, columns=COLUMNS)


def _check_seeds(scores: pd.DataFrame, table: str) -> None:
    """Refuse scores with a seed twice, or without some seeds of a cell."""
    learner = ["setting", "learner", "method"]
    sizes = scores.groupby([*learner, *KEYS[2:]], dropna=False)["seed"].agg(["size", "nunique"])
    most = sizes.groupby(learner, dropna=False)["size"].transform("max")
    if (wrong := (sizes["size"] != sizes["nunique"]) | (sizes["size"] != most)).any():
        where = ", ".join(map(str, sizes.index[wrong][0]))
        problem = f"{table} lacks a seed of {where}, or has one twice"
        raise KerhrmError(problem, f"delete scores/{table}.csv.gz and run again")


def caveat(table: str, cell: Mapping[str, Any]) -> str:
    """Why the paper's number cannot be compared with a cell of its sizes; empty if it can."""
    method, marks = cell["method"], cell["setting"].split(",")
    if not cell["own"]:
        return "another selection criterion than the method's own"
    if marks := [item for item in marks if item.partition("=")[0] in MARKS]:
        return f"the paper has no {', '.join(marks)}"
    if PRINTED_AS.get(method, "").startswith("ref: "):
        return "the paper's number is theoretical"
    if method == AUTHORS_CODE and table == "table4":
        return "no script of this experiment was published"
    if method == AUTHORS_CODE and cell["metric"] == "error_sd":
        return "the published script's deviation has ddof = 0"
    return ""


def base_setting(setting: str) -> str:
    """The paper's name of a setting: ``r2=0.70,H=I`` is ``r2=0.70``."""
    items = setting.split(",")
    return ",".join(i for i in items if i.partition("=")[0] not in UNNAMED | MARKS)
