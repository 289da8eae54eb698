"""Claims of Section 5.1 on the regression data, Table 3."""

from itertools import pairwise

from kerhrm_paper.claims.comparison import Comparison, all_of, at_least
from kerhrm_paper.claims.declare import claim
from kerhrm_paper.claims.evidence import Evidence
from kerhrm_paper.claims.settings import BASELINES, SCENARIO_1, SCENARIO_2, SELECTIONS


@claim
def r_is_a_correlation(evidence: Evidence) -> Comparison:
    """Claim 37 (5.1, A.1): A larger |r| is a stronger correlation of V and Y, with the
    sign of r."""
    correlation = evidence.small_run("selection_bias")
    rising = ("r=1.1", "r=1.5", "r=1.9", "r=2.3", "r=2.9")
    falling = ("r=-1.1", "r=-1.5", "r=-1.9", "r=-2.3", "r=-2.9")
    tests = []
    for low, high in pairwise(rising):
        larger = correlation.more(high, than=low)
        tests.append(larger)
    for high, low in pairwise(falling):
        larger = correlation.more(high, than=low)
        tests.append(larger)
    positive = correlation.more("r=1.1", than=0)
    negative = correlation.more(0, than="r=-1.1")
    tests += [positive, negative]
    return all_of(tests)


@claim
def erm_dro_eiil_have_high_errors(evidence: Evidence) -> Comparison:
    """Claim 38 (5.1, Table 3): ERM, DRO and EIIL have high means and deviations of the
    error.

    Higher than the mean of the three other methods.
    """
    names = ("HRM", "IRM", "KerHRM")
    others = dict.fromkeys(names, 1 / 3)
    tests = []
    for selection in SELECTIONS:
        for metric in ("mean_error", "error_sd"):
            error = evidence.cells("table3", metric, selection)
            mean = error.weighted(others)
            for method in ("ERM", "DRO", "EIIL"):
                test = error.more(method, than=mean)
                tests.append(test)
    return all_of(tests)


@claim
def hrm_is_harmed_by_mixing(evidence: Evidence) -> Comparison:
    """Claim 39 (5.1, Table 3): HRM is good with H = I, greatly harmed otherwise, and
    varies least.

    Harmed: the error of scenario 2 is larger than that of scenario 1 by 10 %.
    """
    error = evidence.cells("table3", "mean_error")
    others = ("ERM", "DRO", "EIIL", "IRM", "KerHRM")
    tests = []
    for mixed, unmixed in zip(SCENARIO_2, SCENARIO_1, strict=True):
        of_mixed = error.at(mixed, "HRM")
        enlarged = error.weighted({"HRM": 1.1}, at=unmixed)
        test = error.more(of_mixed, than=enlarged)
        tests.append(test)
    for selection in SELECTIONS:
        deviation = evidence.cells("table3", "error_sd", selection)
        tests += [deviation.better("HRM", than=method) for method in others]
    return all_of(tests)


@claim
def kerhrm_has_the_lowest_error(evidence: Evidence) -> Comparison:
    """Claim 40 (5.1, Table 3): KerHRM has the lowest mean error in five of six
    settings."""
    lowest = []
    for selection in SELECTIONS:
        error = evidence.cells("table3", "mean_error", selection)
        tests = [error.better("KerHRM", than=baseline) for baseline in BASELINES]
        best = all_of(tests)
        lowest.append(best)
    return at_least(5, lowest)


@claim
def kerhrm_is_ahead_in_scenario_2(evidence: Evidence) -> Comparison:
    """Claim 41 (5.1, Table 3): KerHRM is ahead most clearly in scenario 2.

    By the mean error of the five baselines less KerHRM's.
    """
    error = evidence.cells("table3", "mean_error")
    lead = dict.fromkeys(BASELINES, 0.2)
    lead["KerHRM"] = -1
    in_scenario_2 = error.weighted(lead, over=SCENARIO_2)
    in_scenario_1 = error.weighted(lead, over=SCENARIO_1)
    return error.more(in_scenario_2, than=in_scenario_1)
