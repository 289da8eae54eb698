"""The cells of tables: our mean over seeds with its interval, and the paper's value."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm_paper.config.criteria import ORACLE
from kerhrm_paper.config.strict_yaml import read_yaml
from kerhrm_paper.evaluation import statistics
from kerhrm_paper.evaluation.crossed import of_independent_seeds
from kerhrm_paper.runs.arrays import reading

COLUMNS = [
    "table",
    "setting",
    "method",
    "metric",
    "mean",
    "std",
    "n_seeds",
    "ci_low",
    "ci_high",
    "paper",
    "data_source",
    "selection",
    "verdict",
    "reason",
]
#: tables and figures of the paper
OF_PAPER = ("table1", "table2", "table3", "table4", "figure2", "figure3")
#: metrics that say how good a method is
RESULTS = ("test_acc", "worst_acc", "mean_error", "worst_error", "mse")
WORST = ("worst_acc", "worst_error")  #: those of them of the worst test environment
KEYS = ["setting", "method", "metric", "data_source", "selection"]
FALLBACK = "fallback:"  #: prefix of the source of stand-ins, data in place of real ones
#: stand-ins in words, by their source
STAND_INS = {
    "fallback:digits": "stand-ins for MNIST (digits of 8x8 pixels)",
    "fallback:houses": "stand-ins for the house sales (drawn from a formula)",
    "fallback:adult": "stand-ins for UCI's Adult (drawn from a formula)",
}
#: The paper prints one KerHRM, whose output is Algorithm 1's network; linear predictors
#: have no printed number.
PRINTED_AS = {
    "KerHRM (first iteration)": "KerHRM-s",
    "KerHRM (as printed)": "KerHRM",
    "KerHRM (authors' code)": "KerHRM",
    "ref: ERM on grayscale images": "ref: perfect invariant model",
}
AUTHORS_CODE = "KerHRM (authors' code)"
#: the paper's numbers by (table, setting, method as printed, metric)
PaperValues = Mapping[tuple[str, ...], float]


def primary(cells: pd.DataFrame) -> pd.Series:
    """Whether a row of cells or scores was chosen by its method's own criterion.

    It is the first one, as :mod:`kerhrm_paper.config.own_criterion` orders the rows of
    tables.  What the oracle has chosen is no method's own, also where a method has no
    other row.
    """
    keys = ["table", "data", "setting", "method", "metric"]
    known = [key for key in keys if key in cells]
    criteria = cells["selection"]
    without_oracle = criteria.mask(criteria == ORACLE)
    groups = cells.assign(selection=without_oracle).groupby(known)
    own_criterion = groups["selection"].transform("first")
    return criteria == own_criterion


def where(rows: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Rows of cells or scores whose columns have these values."""
    for column, value in values.items():
        rows = rows[rows[column] == value]
    return rows


@dataclass(frozen=True)
class Metric:
    """Which values of a metric are better, and which differences are small."""

    tolerance: float  #: difference that counts as none
    relative: bool  #: whether that is a share of the reference number
    #: of numbers or arrays, larger is better; None: neither is
    merit: Callable[[Any], Any] | None

    @property
    def higher_is_better(self) -> bool:
        """Whether a higher number is better; raises TypeError if neither is."""
        if self.merit is None:
            raise TypeError("the metric does not say how good a method is")
        return bool(self.merit(1.0) > 0)

    def margin(self, reference: float) -> float:
        """The tolerance in the metric's own units."""
        if self.relative:
            return self.tolerance * abs(reference)
        return self.tolerance


#: an accuracy that spurious features raise is no merit
_TRAINING = Metric(tolerance=0.02, relative=False, merit=None)
_ACCURACY = Metric(tolerance=0.02, relative=False, merit=operator.pos)
_GAP = Metric(tolerance=0.02, relative=False, merit=lambda gap: -abs(gap))
_ERROR = Metric(tolerance=0.10, relative=True, merit=operator.neg)
_DIVERGENCE = Metric(tolerance=0.10, relative=True, merit=operator.pos)
METRICS: Mapping[str, Metric] = {
    "train_acc": _TRAINING,
    "test_acc": _ACCURACY,
    "worst_acc": _ACCURACY,
    "generalisation_gap": _GAP,
    "mean_error": _ERROR,
    "worst_error": _ERROR,
    "error_sd": _ERROR,
    "mse": _ERROR,
    "d_kl": _DIVERGENCE,
}


def load_paper_values(path: str | Path) -> dict[tuple[str, ...], float]:
    """Numbers of ``config/paper_values.yaml`` by (table, setting, method as printed,
    metric)."""
    numbers: dict[tuple[str, ...], float] = {}
    with reading(path, "restore the file that comes with the repository"):
        tables = read_yaml(Path(path))
        for table, settings in tables.items():
            for setting, methods in settings.items():
                for method, metrics in methods.items():
                    for metric, number in metrics.items():
                        key = (table, setting, method, metric)
                        numbers[key] = float(number)
    return numbers


def make_table(
    scores: pd.DataFrame,
    table: str,
    mark: str,
    paper: PaperValues,
) -> pd.DataFrame:
    """Summarise the values of the seeds, with the paper's numbers next to them.

    A cell has the paper's number if the run has the published options (an empty
    ``mark``) and it was not measured on fallback data.

    Parameters
    ----------
    scores : DataFrame
        Of :func:`kerhrm_paper.evaluation.scores.score_table`.
    table : str
        Name of the table.
    mark : str
        How the run differs from the published options.
    paper : mapping of tuple to float
        Of :func:`load_paper_values`.

    Returns
    -------
    DataFrame
        Columns :data:`COLUMNS`; ``verdict`` is ``failed`` where a seed has no value,
        ``not comparable`` where the paper's number is of another kind, else empty, and
        ``reason`` says why.  Rows are in the order in which settings, methods and
        metrics first appear.
    """
    rows: list[dict[str, Any]] = []
    keys = [*KEYS, "own"]
    scores = of_independent_seeds(scores)
    scores = scores.assign(own=primary(scores))
    groups = scores.groupby(keys, sort=False, dropna=False)
    for group_values, group in groups:
        cell: dict[str, Any] = dict(zip(keys, group_values, strict=True))
        cell |= statistics.summarise(group["value"])
        cell["table"] = table
        key = _printed_as(table, cell)
        printed = paper.get(key)
        difference = notice(group, mark)
        cell["paper"] = None if difference else printed
        cell["verdict"] = ""
        cell["reason"] = ""
        is_missing = group["value"].isna()
        if is_missing.any():
            cell["verdict"] = "failed"
            cell["reason"] = _failure(group)
        elif printed is not None:
            cell["reason"] = difference or caveat(table, cell)
            cell["verdict"] = "not comparable" if cell["reason"] else ""
        rows.append(cell)
    return pd.DataFrame(rows, columns=COLUMNS)


def _printed_as(table: str, cell: Mapping[str, Any]) -> tuple[str, ...]:
    """Key of the paper's number of a cell."""
    method = cell["method"]
    name_in_paper = PRINTED_AS.get(method, method)
    setting = base_setting(cell["setting"])
    return table, setting, name_in_paper, cell["metric"]


def _failure(group: pd.DataFrame) -> str:
    """Why seeds of a cell have no value, and how many."""
    is_missing = group["value"].isna()
    reasons = group.loc[is_missing, "reason"]
    distinct = dict.fromkeys(reason or "no value" for reason in reasons)
    in_words = "; ".join(distinct)
    return f"{in_words} ({len(reasons)} of {len(group)} seeds)"


def notice(rows: pd.DataFrame, mark: str) -> str:
    """What keeps scores or cells from being compared with the paper's.

    Empty if nothing does.

    ``mark`` is the run's, :attr:`~kerhrm_paper.config.config.Config.mark`.
    """
    differences = (stand_ins(rows), mark)
    return "; ".join(filter(None, differences))


def stand_ins(rows: pd.DataFrame) -> str:
    """What takes the place of real data in scores or cells; empty if nothing does."""
    names = []
    sources = set(rows["data_source"])
    for source in sorted(sources):
        if source.startswith(FALLBACK):
            name = STAND_INS.get(source, f"stand-ins ({source})")
            names.append(name)
    return "; ".join(names)


def caveat(table: str, cell: Mapping[str, Any]) -> str:
    """Why the paper's number cannot be compared with a cell of its sizes.

    Empty if it can.
    """
    method = cell["method"]
    if not cell["own"]:
        return "another selection criterion than the method's own"
    name_in_paper = PRINTED_AS.get(method, "")
    if name_in_paper.startswith("ref: "):
        return "the paper's number is theoretical"
    if method == AUTHORS_CODE and table == "table4":
        return "no script of this experiment was published"
    if method == AUTHORS_CODE and cell["metric"] == "error_sd":
        return "the published script's deviation has ddof = 0"
    return ""


def base_setting(setting: str) -> str:
    """The paper's name of a setting: ``r2=0.7,H=I`` is ``r2=0.7``.

    The paper has both values of H, but does not say which one a number belongs to.
    """
    options = setting.split(",")
    kept = [option for option in options if not option.startswith("H=")]
    return ",".join(kept)
