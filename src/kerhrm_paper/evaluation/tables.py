"""The cells of tables: our mean over seeds with its interval, and the paper's value."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kerhrm_paper.config.files import read_yaml
from kerhrm_paper.evaluation import statistics
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
#: metrics that say how good a method is
RESULTS = ("test_acc", "worst_acc", "mean_error", "mse")
KEYS = ["setting", "method", "metric", "data_source", "selection"]
FALLBACK = "fallback:"  #: prefix of the source of stand-ins, data in place of real ones
#: stand-ins in words, by their source
STAND_INS = {
    "fallback:digits": "stand-ins for MNIST (digits of 8x8 pixels)",
    "fallback:houses": "stand-ins for the house sales (drawn from a formula)",
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


def primary(cells: pd.DataFrame) -> pd.Series:
    """Whether a row of cells or scores was chosen by its method's own criterion, the
    first one.

    Rows of other selection criteria and of the oracle follow it.
    """
    keys = [
        key for key in ("table", "data", "setting", "method", "metric") if key in cells
    ]
    return cells["selection"] == cells.groupby(keys)["selection"].transform("first")


@dataclass(frozen=True)
class Criterion:
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
        return self.tolerance * abs(reference) if self.relative else self.tolerance


CRITERIA: Mapping[str, Criterion] = {
    # an accuracy that spurious features raise is no merit
    "train_acc": Criterion(0.02, False, None),
    **dict.fromkeys(("test_acc", "worst_acc"), Criterion(0.02, False, operator.pos)),
    "generalisation_gap": Criterion(0.02, False, lambda gap: -abs(gap)),
    **dict.fromkeys(
        ("mean_error", "error_sd", "mse"), Criterion(0.10, True, operator.neg)
    ),
    "d_kl": Criterion(0.10, True, operator.pos),
}


def load_paper_values(path: str | Path) -> dict[tuple[str, ...], float]:
    """Numbers of ``config/paper_values.yaml`` by (table, setting, method as printed,
    metric)."""
    with reading(path, "restore the file that comes with the repository"):
        return {
            (table, setting, method, metric): float(value)
            for table, settings in read_yaml(Path(path)).items()
            for setting, methods in settings.items()
            for method, metrics in methods.items()
            for metric, value in metrics.items()
        }


def make_table(
    scores: pd.DataFrame,
    table: str,
    mark: str,
    paper: Mapping[tuple[str, ...], float],
) -> pd.DataFrame:
    """Summarise the values of the seeds, with the paper's numbers beside them.

    A cell has the paper's number if the run has the published options (an empty
    ``mark``) and it was not measured on fallback data.

    Returns columns :data:`COLUMNS`; ``verdict`` is ``failed`` where a seed has no
    value, ``not comparable`` where the paper's number is of another kind, else empty,
    and ``reason`` says why. Rows are in the order in which settings, methods and
    metrics first appear.
    """
    rows: list[dict[str, Any]] = []
    scores = scores.assign(own=primary(scores))
    for values, group in scores.groupby([*KEYS, "own"], sort=False, dropna=False):
        cell: dict[str, Any] = dict(zip([*KEYS, "own"], values, strict=True))
        numbers, metric = statistics.summarise(group["value"]), cell["metric"]
        name = PRINTED_AS.get(cell["method"], cell["method"])
        printed = paper.get((table, base_setting(cell["setting"]), name, metric))
        elsewhere = notice(group, mark)
        verdict = reason = ""
        if group["value"].isna().any():
            reasons = group.loc[group["value"].isna(), "reason"]
            distinct = "; ".join(dict.fromkeys(one or "no value" for one in reasons))
            verdict, reason = (
                "failed",
                f"{distinct} ({len(reasons)} of {len(group)} seeds)",
            )
        elif printed is not None:
            reason = elsewhere or caveat(table, cell)
            verdict = "not comparable" if reason else ""
        cell |= numbers | {"table": table, "paper": None if elsewhere else printed}
        rows.append(cell | {"verdict": verdict, "reason": reason})
    return pd.DataFrame(rows, columns=COLUMNS)


def notice(rows: pd.DataFrame, mark: str) -> str:
    """What keeps scores or cells from being compared with the paper's.

    Empty if nothing does.

    ``mark`` is the run's, :attr:`kerhrm_paper.config.Config.mark`.
    """
    return "; ".join(filter(None, (stand_ins(rows), mark)))


def stand_ins(rows: pd.DataFrame) -> str:
    """What takes the place of real data in scores or cells; empty if nothing does."""
    sources = sorted({s for s in rows["data_source"] if s.startswith(FALLBACK)})
    return "; ".join(STAND_INS.get(s, f"stand-ins ({s})") for s in sources)


def caveat(table: str, cell: Mapping[str, Any]) -> str:
    """Why the paper's number cannot be compared with a cell of its sizes.

    Empty if it can.
    """
    method = cell["method"]
    if not cell["own"]:
        return "another selection criterion than the method's own"
    if PRINTED_AS.get(method, "").startswith("ref: "):
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
    return ",".join(i for i in setting.split(",") if not i.startswith("H="))
