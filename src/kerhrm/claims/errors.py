"""Statements about Table 3 and Figure 3, checked on per-seed errors."""

import numpy as np
import pandas as pd

from kerhrm.claims.cells import (
    BASELINES,
    BIASES,
    SELECTIONS,
    better_than_all,
    mean_of,
)
from kerhrm.claims.claim import Claim
from kerhrm.claims.evidence import Case, Finding, pair, paired
from kerhrm.claims.parts import Part, all_of, at_least, correlation, more
from kerhrm.data.sources.king_county import PERIODS
from kerhrm.scoring.verdicts import CRITERIA

TABLE3, FIGURE3 = "regression", "houses"
TOLERANCE = CRITERIA["mean_error"].tolerance  #: share of an error that counts as none
TIMES = 2.0  #: by which an error has to grow in order to rise sharply


def three_have_large_errors(case: Case) -> Finding:
    """ERM, DRO and EIIL against the mean of HRM, IRM and KerHRM."""
    parts = []
    for s in SELECTIONS:
        for metric in ("mean_error", "std_error"):
            rest = mean_of(case.scores.of(TABLE3, s, m, metric) for m in ("HRM", "IRM", case.row))
            for m in ("ERM", "DRO", "EIIL"):
                theirs = case.scores.of(TABLE3, s, m, metric)
                parts.append(more(f"{m} less the others, {metric} at {s}", *pair(theirs, rest)))
    return Finding(all_of(parts), "both errors above the mean of HRM, IRM and KerHRM everywhere")


def hrm_suffers_from_mixtures(case: Case) -> Finding:
    parts = []
    for r in BIASES:
        raw, mixed = (
            case.scores.of(TABLE3, f"scenario={s},{r}", "HRM", "mean_error") for s in (1, 2)
        )
        mixed_error, raw_error = paired(mixed, raw)
        by = TOLERANCE * float(raw_error.mean())
        parts.append(more(f"HRM, mean_error, scenario 2 less 1, {r}", mixed_error, raw_error, by))
    others = [m for m in (*BASELINES, case.row) if m != "HRM"]
    for s in SELECTIONS:
        parts += better_than_all(case, TABLE3, s, "HRM", others, "std_error")
    note = f"mean error at least {TOLERANCE:.0%} larger when mixed; Std_Error lowest everywhere"
    return Finding(all_of(parts), note)


def ours_is_lowest_in_five(case: Case) -> Finding:
    settings = [
        all_of(better_than_all(case, TABLE3, s, case.row, BASELINES, "mean_error"))
        for s in SELECTIONS
    ]
    return Finding(at_least(5, settings), "below all baselines in at least 5 of 6 settings")


def ours_gains_most_when_mixed(case: Case) -> Finding:
    gains = [_gain(case, f"scenario={s}") for s in (2, 1)]
    name = f"mean error of the baselines less {case.row}, scenario 2 less 1"
    return Finding(more(name, *pair(*gains)), "means over three r and five baselines")


def _gain(case: Case, scenario: str) -> pd.Series:
    def error(m: str) -> pd.Series:
        return mean_of(case.scores.of(TABLE3, f"{scenario},{r}", m, "mean_error") for r in BIASES)

    return mean_of(map(error, BASELINES)) - error(case.row)


def shift_grows(case: Case) -> Finding:
    method = "ref: least squares"
    errors = paired(*(case.scores.of(FIGURE3, f"period={p}", method, "mse") for p in PERIODS))
    by_seed = np.stack(errors, axis=1)
    ranks = correlation(by_seed, np.broadcast_to(np.arange(len(PERIODS)), by_seed.shape))
    name = "rank correlation of least squares' error with the period"
    return Finding(more(name, ranks), "over the six periods; the shift by what it costs")


def errors_rise_sharply(case: Case) -> Finding:
    parts = []
    for m in ("ERM", "DRO"):
        first, last = (
            case.scores.of(FIGURE3, f"period={p}", m, "mse") for p in (PERIODS[0], PERIODS[-1])
        )
        late, early = paired(last, first)
        parts.append(
            more(f"{m}, mse of the last period less twice the first's", late, TIMES * early)
        )
    return Finding(all_of(parts), "at least doubled")


def irm_beats_erm_and_dro(case: Case) -> Finding:
    return Finding(all_of(_later(case, "IRM", "ERM", "DRO")), "mean of the five later periods")


def ours_beats_eiil_and_hrm(case: Case) -> Finding:
    return Finding(all_of(_later(case, case.row, "EIIL", "HRM")), "mean of the five later periods")


def ours_beats_irm_on_houses(case: Case) -> Finding:
    return Finding(all_of(_later(case, case.row, "IRM")), "mean of the five later periods")


def _later(case: Case, a: str, *others: str) -> list[Part]:
    """Row a has a lower mean error over the later periods than each of the others."""

    def error(m: str) -> pd.Series:
        return mean_of(case.scores.of(FIGURE3, f"period={p}", m, "mse") for p in PERIODS[1:])

    return [more(f"mse of {b} less {a}", *pair(error(b), error(a))) for b in others]


CLAIMS = (
    Claim(38, "5.1, Table 3", "ERM, DRO and EIIL have high means and deviations of the error",
          three_have_large_errors, own=True),
    Claim(39, "5.1, Table 3", "HRM is good with H = I, greatly harmed otherwise, and varies least",
          hrm_suffers_from_mixtures, own=True),
    Claim(40, "5.1, Table 3", "KerHRM has the lowest mean error in five of six settings",
          ours_is_lowest_in_five, own=True),
    Claim(41, "5.1, Table 3", "KerHRM is ahead most clearly in scenario 2",
          ours_gains_most_when_mixed, own=True),
    Claim(48, "5.2, Figure 3", "The shift grows with the period", shift_grows),
    Claim(49, "5.2, Figure 3", "Errors of ERM and DRO rise sharply over the periods",
          errors_rise_sharply),
    Claim(50, "5.2, Figure 3", "IRM is better than ERM and DRO", irm_beats_erm_and_dro),
    Claim(51, "5.2, Figure 3", "KerHRM outperforms EIIL and HRM", ours_beats_eiil_and_hrm,
          own=True),
    Claim(52, "5.2, Figure 3", "KerHRM outperforms IRM on house prices",
          ours_beats_irm_on_houses, own=True),
)  # fmt: skip
