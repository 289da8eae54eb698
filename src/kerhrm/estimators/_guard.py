"""Whether KerHRM predicts, or ERM in its place, and what KerHRM costs.

Environments can be cut out of any rows, and a model that is invariant over environments
that are noise is worse than ERM.  A test says whether a numeric target holds any; for
two labels none can exist, so that KerHRM has to show more there: labels that are wrong
at random make environments in which it is hardly better than a constant, or than ERM.
"""

import math

import numpy as np
import pandas as pd

from kerhrm.description.break_even import break_even_share
from kerhrm.heterogeneity.auxiliary import CELL_ROWS
from kerhrm.heterogeneity.result import MIN_POINTS, HeterogeneityResult
from kerhrm.options import Task
from kerhrm.tables.wording import number

ALL = "all rows"  #: the first row of a comparison
MOST_DIGITS = 8  #: of two numbers that are compared in words
#: share by which KerHRM's error in the worst environment must be below ERM's
MARGIN = 0.1
#: reason for ERM where the margin leaves KerHRM no error at all, whatever is compared
ASKED_FOR = "options={'margin': 1} asks for it"
#: KerHRM costs something where its share of wrong labels is larger by more than this
COST = 0.01
#: share of wrong labels that is none but for soft memberships
NO_ERROR = 1e-6
#: share of ERM's error in the worst environment that may then be left: more where
#: KerHRM's error is everywhere at most a share of a constant's
LEFT_AT_A_COST, LEFT_IF_CLEAR, CLEAR = 0.5, 0.7, 0.4
#: and, else, together with half of the largest share of a constant's error that is left
LEFT_TOGETHER = 0.9
#: share by which KerHRM's error must be below a constant's in every environment; of a
#: regression, by which it may be above
BESIDE_CONSTANT = 0.1
#: that share of labels where all rows are looked at, which leaves less to chance
BESIDE_OF_ALL = 0.05
#: where KerHRM's error on all rows is this many times ERM's, or more, ERM has to leave
#: this share of a constant's error in its worst environment
DEAR, ERM_FAILS = 1.2, 0.4
#: fewer columns than this hold few features that could be invariant: where KerHRM costs
#: something, at most this share of a constant's error may be left in any environment
FEW_COLUMNS, LEFT_OF_CONSTANT = 20, 0.6


def not_detected(
    result: HeterogeneityResult | None, *, by_auxiliary: bool = False
) -> str | None:
    """Why nothing was detected, if it was not; ``by_auxiliary`` columns, or at all."""
    if result is None or result.detected:
        return None
    if math.isnan(result.p_value):
        if by_auxiliary:
            few = f"fewer than {MIN_POINTS} rows are left beside those that validate"
            rare = f"no value of the auxiliary columns has {CELL_ROWS} rows"
            return f"no test is possible: {few}, or {rare}"
        few = f"fewer than {MIN_POINTS} different rows"
        text = f"no test is possible: a target of two values, or {few}"
        return f"{text} (those of a frequent value of the target do not count)"
    if math.isnan(result.visible):
        return "no environments are detected in the training rows"
    return "no environments are detected"


def constant_only(result: HeterogeneityResult | None) -> str | None:
    """Why no feature is spurious, if all that changes with an auxiliary column is a
    constant."""
    if result is None or not result.constant_only:
        return None
    return (
        "what changes with the auxiliary column is a constant, and no feature's effect "
        "is seen to change (as a feature the column would help)"
    )


def worse_than_constant(
    report: pd.DataFrame,
    task: Task,
    doubt: pd.Series | None = None,
    share: float = BESIDE_CONSTANT,
    *,
    beside_erm: bool = False,
) -> str | None:
    """Where KerHRM is not good enough next to a constant.

    It is worse on all rows, or in an environment: of labels not better by a ``share``,
    of numbers worse by that share and one standard error ``doubt`` of the difference.
    ``beside_erm`` passes over environments in which ERM, which would predict instead,
    has the larger error.
    """
    ours = report["KerHRM"]
    limits = report["constant"].copy()
    environments = report.index != ALL
    if task == "classification":
        limits[environments] *= 1 - share
    else:
        limits[environments] *= 1 + share
        limits[environments] += 0 if doubt is None else doubt[environments]
    is_worse = ~(ours <= limits)
    if beside_erm:
        is_worse &= ~(environments & (ours < report["ERM"]))
    if len(worse := report.index[is_worse]):
        first = worse[0]
        errors = report.loc[first]
        hardly = task == "classification" and errors["KerHRM"] <= errors["constant"]
        than = "hardly better" if hardly else "worse"
        times = _times_a_constant(errors, task)
        return f"KerHRM is {than} than a constant ({first}: {times})"
    return None


def _times_a_constant(errors: pd.Series, task: Task) -> str:
    """KerHRM's error in units of a constant's, in words."""
    constant = errors["constant"]
    if constant <= (NO_ERROR if task == "classification" else 0):
        same = "label" if task == "classification" else "value"
        return f"all its rows have one {same}"
    ratio = errors["KerHRM"] / constant
    if task == "regression":
        ratio = math.sqrt(ratio)
    times, _ = _told_apart(ratio, 1.0, digits=2)
    return f"{times} times the constant's error"


def _told_apart(first: float, second: float, digits: int) -> tuple[str, str]:
    """Two numbers with so many digits, or as many as tell them apart."""
    for n_digits in range(digits, MOST_DIGITS):
        texts = (f"{first:.{n_digits}g}", f"{second:.{n_digits}g}")
        if texts[0] != texts[1]:
            return texts
    return f"{first:.{digits}g}", f"{second:.{digits}g}"


def not_better(
    report: pd.DataFrame,
    task: Task,
    margin: float | None,
    n_columns: int,
    doubt: pd.Series | None = None,
) -> str | None:
    """Why ERM should predict in KerHRM's place; None if KerHRM is better on all rows.

    KerHRM must hold its own next to a constant, and its largest error in an environment
    has to be below ERM's by a share ``margin``: by default :data:`MARGIN`, and of
    labels more where KerHRM's error on all rows is the larger one.  There is no test
    for labels; these limits keep the paper's data, and ERM where labels are wrong at
    random (docs/studies.md).

    Parameters
    ----------
    report : DataFrame
        Errors of KerHRM, ERM and a constant, by :meth:`.ComparedPoints.errors`.
    task : {"regression", "classification"}
        What the target is.
    margin : float or None
        The user's; with one, nothing but a constant is compared besides.
    n_columns : int
        Columns of the table.
    doubt : Series or None
        Standard errors of KerHRM's error less the constant's, of the same parts.
    """
    share = BESIDE_OF_ALL if task == "classification" else BESIDE_CONSTANT
    # where a slope flips numbers may hardly vary, and a constant is better than both;
    # of labels a constant is all that tells environments from wrong labels
    numbers = task == "regression"
    if reason := worse_than_constant(report, task, doubt, share, beside_erm=numbers):
        return reason
    left = 1 - (MARGIN if margin is None else margin)
    if task == "classification" and margin is None:
        if reason := _nothing_invariant(report, n_columns):
            return reason
        if reason := _too_dear(report):
            return reason
        if _costs(report):
            left = _left_at_a_cost(report)
    environments = report.drop(index=ALL)
    ours, erm = environments["KerHRM"].max(), environments["ERM"].max()
    if not ours < left * erm:
        times = _times_erm(ours, erm, left, task)
        return f"KerHRM is not better enough than ERM: {times}"
    return None


def _times_erm(ours: float, erm: float, left: float, task: Task) -> str:
    """KerHRM's worst error in units of ERM's, and what it has to be, in words."""
    where = "its worst error in an inferred environment"
    if erm <= 0:
        return f"{where} is {ours:.3g}, and ERM's is 0"
    ratio = ours / erm
    if task == "regression":  # the errors are squares
        ratio, left = math.sqrt(ratio), math.sqrt(left)
    ours_told, limit = _told_apart(ratio, left, digits=3)
    return f"{where} is {ours_told} times ERM's, and not below {limit} times"


def _costs(report: pd.DataFrame) -> bool:
    """Whether KerHRM's share of wrong labels on all rows is clearly above ERM's."""
    ours, erm = report.loc[ALL, ["KerHRM", "ERM"]]
    cost = ours - erm
    return bool(cost > COST)


def _beside_constant(report: pd.DataFrame) -> float:
    """Largest share of a constant's error that KerHRM leaves in an environment."""
    environments = report.drop(index=ALL)
    left = environments["KerHRM"] / environments["constant"]
    return float(left.max())


def _left_at_a_cost(report: pd.DataFrame) -> float:
    """Share of ERM's error in the worst environment that may be left at a cost."""
    beside = _beside_constant(report)
    if beside <= CLEAR:
        return LEFT_IF_CLEAR
    return min(LEFT_AT_A_COST, LEFT_TOGETHER - beside / 2)


def _too_dear(report: pd.DataFrame) -> str | None:
    """Why KerHRM's price is not worth paying, if so.

    Where a feature flips ERM is hardly better than a constant.  Where it is much
    better, its errors in few rows are no reason for many more in all.
    """
    ours, erm = report.loc[ALL, ["KerHRM", "ERM"]]
    if ours < DEAR * erm:
        return None
    environments = report.drop(index=ALL)
    worst = environments["ERM"].idxmax()
    there, constant = environments.loc[worst, ["ERM", "constant"]]
    if there >= ERM_FAILS * constant:
        return None
    return (
        f"KerHRM's error is {ours:.3g} against ERM's {erm:.3g} on rows like these, and "
        f"ERM holds its own in the worst inferred environment ({there:.3g} against a "
        f"constant's {constant:.3g})"
    )


def _nothing_invariant(report: pd.DataFrame, n_columns: int) -> str | None:
    """Why labels of a table with few columns have no invariant feature, if so.

    Rows that the one strong column predicts wrongly look like an environment in which
    it flips; what tells it from one is that nothing else predicts the label.
    """
    if n_columns == 1:
        return "with a single column nothing would be left to predict by"
    if n_columns >= FEW_COLUMNS or not _costs(report):
        return None
    left = _beside_constant(report)
    if left <= LEFT_OF_CONSTANT:
        return None
    return (
        f"what KerHRM keeps of {n_columns} columns leaves {left:.0%} of a constant's "
        f"error in an environment, more than {LEFT_OF_CONSTANT:.0%}"
    )


def price(report: pd.DataFrame, scale: float | None = None) -> str | None:
    """What KerHRM costs on rows like those that a report is of, if it costs anything.

    The pooled errors of both, and the share of new rows in the smallest environment
    above or below which KerHRM is the better one.  Mean squared errors are told as root
    mean squared errors in a unit of ``scale``; shares of wrong labels have none.
    """
    ours, erm = report.loc[ALL, ["KerHRM", "ERM"]]
    if not ours > erm or len(report) < 3:
        return None
    told = [ours, erm]
    if scale is not None:
        told = [scale * ours**0.5, scale * erm**0.5]
    own_error, erm_error = told
    against = f"{number(own_error)} against ERM's {number(erm_error)}"
    text = f"{against} on rows like these"
    environments = report.drop(index=ALL)
    rows = environments["rows"]
    smallest = rows.idxmin()
    difference = environments["KerHRM"] - environments["ERM"]
    others = environments.index != smallest
    in_others = np.average(difference[others], weights=rows[others])
    ends = difference[smallest], in_others
    if not min(ends) < 0 < max(ends):  # one of them is better at any share
        return text
    share, side = break_even_share(*ends)
    now = rows.loc[smallest] / rows.sum()
    than = "more" if side == "above" else "less"
    beyond = f"where {than} than {share:.0%} of the rows are of {smallest}"
    return f"{text}; KerHRM is the better one {beyond} ({now:.0%} are now)"
