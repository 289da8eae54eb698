"""The parts of a description, put together for one table."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from kerhrm.description.break_even import BreakEven
from kerhrm.description.dip import Dip, dip_test
from kerhrm.description.memberships import certain_rows, environments, rootogram
from kerhrm.description.power import FIFTH, smallest_changes
from kerhrm.description.regressions import (
    Regression,
    environment_regressions,
    slopes,
)
from kerhrm.description.result import Description
from kerhrm.description.rows import DescribedRows, environment_names
from kerhrm.description.split import Split
from kerhrm.description.spread import spread_along
from kerhrm.description.stability import Relabel, separates, stability
from kerhrm.description.text import shortened
from kerhrm.description.tree import separate
from kerhrm.tables.wording import listed, number

BIMODAL = 0.05  #: p-value of the dip below which residuals are called bimodal
#: Shift of the level, in standard deviations of ERM's errors, below which two groups of
#: any sizes have one mode: normal noise of sd s in both has one up to a shift of 2 s
#: (Behboodian, Technometrics 12, 1970), and pooled an sd of at most sqrt(2) s then
ONE_MODE = math.sqrt(2)
#: of ERM's residuals, in units of its errors on rows that it has not seen
LEAST_RESIDUAL = 0.5


@dataclass(frozen=True)
class Known:
    """What is known of a fit before its table is described.

    Attributes
    ----------
    rows : DescribedRows
        Draws of the table.
    index : Index, (n_samples,)
        Labels of all rows, those of weight 0 included.
    verdict, mark : str
        As in :class:`Description`.
    limits : tuple of str
        As in :class:`Description`.
    detected : bool
        Whether the pre-test has detected environments.
    split : {"fit", "mixture", "none"}
        Where the memberships come from.
    memberships : ndarray, (n, K), or None
        Of the draws, in their order; None: there is no split.
    residuals : ndarray, (n,)
        Of ERM, in the target's unit.
    noise : float
        Standard deviation of ERM's errors on rows that it has not seen.
    continuous : bool
        Whether the target is numeric with more than two values.
    visible : float
        Of the pre-test; NaN: there is none.
    break_even : BreakEven, or None
        By errors on points that the models have not seen.
    mixture : Split, or None
        The split, if it is a mixture.
    label : object
        As in :class:`Description`.
    notes : tuple of str
        On the fit.
    """

    rows: DescribedRows
    index: pd.Index
    verdict: str
    limits: tuple[str, ...]
    mark: str
    detected: bool
    split: Literal["fit", "mixture", "none"]
    memberships: np.ndarray | None
    residuals: np.ndarray
    noise: float
    continuous: bool
    visible: float
    break_even: BreakEven | None
    mixture: Split | None
    label: Any
    notes: tuple[str, ...]


def describe(known: Known, relabel: Relabel, times: int, seed: int) -> Description:
    """Describe a table by what is known of a fit.

    Parameters
    ----------
    known : Known
        The table and the fit.
    relabel : callable
        Splits the rows by a fit to some of them.
    times : int
        Half samples of the stability; 0: it is not measured.
    seed : int
        Draws them.
    """
    rows = known.rows
    found = _dip(known)
    residual_sd = known.noise
    notes = [*known.notes, *_notes(known, found)]
    memberships = known.memberships
    if memberships is None or memberships.shape[1] < 2:
        changes = smallest_changes(
            rows, residual_sd, residual_sd, visible=known.visible
        )
        return _described(known, None, None, changes, found, tuple(notes))
    regressions, names, left_out = environment_regressions(rows, memberships)
    if left_out:
        columns = listed(left_out)
        notes.append(
            "too few rows of an environment for slopes of all columns: without "
            f"{columns}, which differ least"
        )
    notes += _exact(regressions)
    sizes = np.average(memberships, axis=0, weights=rows.weights)
    noise = residual_sd
    share = FIFTH
    if known.split == "fit" and known.detected:
        noise = _pooled(regressions, rows.weights @ memberships)
        share = float(sizes.min())
    changes = smallest_changes(rows, residual_sd, noise, share, known.visible)
    coefficients = slopes(regressions, names)
    tested = not math.isnan(known.visible)
    if known.split == "mixture" and tested and not known.detected:
        notes += _on_power(coefficients, changes, sizes)
    likeliest = memberships.argmax(1)
    agreement = stability(likeliest, relabel, times, seed) if times else None
    if times and not separates(likeliest):
        notes.append(
            "stability: all rows are likeliest in one environment, so that no half can "
            "split them alike"
        )
    elif times and agreement is None:
        notes.append("stability: no half of the rows could be fitted")
    parts = {
        "environments": environments(rows, memberships, regressions),
        "slopes": coefficients,
        "tree": separate(rows, memberships),
        "certain": certain_rows(rows, memberships),
        "rootogram": rootogram(memberships),
        "stability": agreement,
    }
    _, n_environments = memberships.shape
    headings = environment_names(n_environments)
    of_rows = pd.DataFrame(rows.of_table(memberships), known.index, headings)
    return _described(known, of_rows, parts, changes, found, tuple(notes))


def _described(
    known: Known,
    memberships: pd.DataFrame | None,
    parts: dict[str, Any] | None,
    changes: pd.DataFrame,
    found: Dip | None,
    notes: tuple[str, ...],
) -> Description:
    """The description, with or without a split."""
    mixture = known.mixture
    names = "environments", "slopes", "tree", "certain", "rootogram", "stability"
    return Description(
        verdict=known.verdict,
        limits=known.limits,
        detected=known.detected,
        split=known.split,
        mark=known.mark,
        memberships=memberships,
        **(parts or dict.fromkeys(names)),
        break_even=known.break_even,
        smallest_changes=changes,
        candidates=None if mixture is None else mixture.candidates,
        dip=found,
        label=known.label,
        notes=notes,
    )


def _out_of_sight(coefficients: pd.DataFrame, changes: pd.DataFrame) -> bool:
    """Whether all slopes differ by less than what the pre-test sees in 80 % of such
    tables."""
    of_columns = coefficients.groupby("column")["coefficient"]
    largest = of_columns.max() - of_columns.min()
    seen = changes["hidden"].reindex(largest.index)
    comparable = seen.notna()
    below = (largest < seen)[comparable]
    return bool(comparable.any() and below.all())


def _on_power(
    coefficients: pd.DataFrame, changes: pd.DataFrame, sizes: np.ndarray
) -> list[str]:
    """Lines on why the pre-test may have missed a split of such sizes (K,)."""
    notes = []
    if _out_of_sight(coefficients, changes):
        notes.append(
            "the slopes above differ by less than the table of smallest differences "
            "names, which the pre-test sees in 80 % of such tables: it may have missed "
            "this split"
        )
    if sizes.min() < FIFTH / 2:
        notes.append(
            f"the smallest environment has {sizes.min():.0%} of the rows, not a fifth: "
            "to be seen as often, its slopes have to differ by more than that table "
            "names"
        )
    return notes


def _exact(regressions: list[Regression]) -> list[str]:
    """A line on environments in which the columns explain the target exactly."""
    pairs = zip(environment_names(len(regressions)), regressions, strict=True)
    exact = [name for name, regression in pairs if regression.noise == 0]
    if not exact:
        return []
    environments_of_it = " and ".join(exact)
    return [
        f"in {environments_of_it} the columns say exactly what the target is: two "
        "values are easily split so"
    ]


def _pooled(regressions: list[Regression], sizes: np.ndarray) -> float:
    """Standard deviation of the residuals within environments of sizes (K,)."""
    squares = [regression.noise**2 for regression in regressions]
    variance = np.average(squares, weights=sizes)
    return float(np.sqrt(variance))


def _dip(known: Known) -> Dip | None:
    """Dip of ERM's residuals, each draw once whatever it weighs; None where labels are
    two, or ERM follows the rows so closely that residuals are no errors."""
    squares = known.residuals**2
    variance = np.average(squares, weights=known.rows.weights)
    follows = np.sqrt(variance) < LEAST_RESIDUAL * known.noise
    if follows or not known.continuous:
        return None
    return dip_test(known.residuals)


def _notes(known: Known, found: Dip | None) -> list[str]:
    """Lines on the residuals, and on the number of components."""
    notes = []
    n_rows = int((known.rows.draws >= 0).sum())
    n_draws = len(known.rows.y)
    if n_draws < n_rows:
        notes.append(
            f"of {n_rows} rows {n_draws} are different: numbers of rows count these, "
            "and a copy adds to its row's weight"
        )
    n_counted = len(known.rows.counted)
    if n_counted > n_rows:
        notes.append(
            f"weights are whole numbers: {n_rows} rows stand for {n_counted}, and "
            "numbers of rows count these"
        )
    if found is not None:
        notes += _on_residuals(known, found)
    split = known.mixture
    if split is not None:
        by_bic = f"{split.by_bic} by BIC, which asks what explains the rows best"
        by_icl = f"{split.by_icl} by ICL, which asks for groups that stand apart"
        shown = f"{split.number} are shown"
        notes.append(f"number of environments: {by_bic}; {by_icl}; {shown}")
    return notes


def _on_residuals(known: Known, found: Dip) -> list[str]:
    """Lines on modes of the residuals, and on a column along which they scatter."""
    dip = f"dip {found.dip:.3f}, p = {found.p_value:.2g}"
    notes = []
    if found.p_value < BIMODAL:
        notes.append(
            f"residuals of ERM have more than one mode ({dip}): a hidden shift of the "
            "level looks like this, and the pre-test does not see it"
        )
    if known.split != "mixture":
        return notes
    if found.p_value >= BIMODAL:
        shift = number(ONE_MODE * known.noise)
        notes.append(
            f"residuals of ERM have one mode ({dip}); so they have with a hidden shift "
            f"of the level by {shift} or less"
        )
    spread = spread_along(known.rows, known.residuals)
    if spread is not None:
        low, high = number(spread.low), number(spread.high)
        name = shortened(spread.column)
        notes.append(
            f"residuals of ERM scatter along {name}: sd {low} in the fifth of the rows "
            f"where it is lowest, {high} where it is highest; this alone makes splits "
            "like the one above"
        )
    return notes
