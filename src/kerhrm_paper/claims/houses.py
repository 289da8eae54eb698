"""Claims of Section 5.2 on house prices, Figure 3."""

from kerhrm_paper.claims.comparison import Comparison, all_of
from kerhrm_paper.claims.declare import claim
from kerhrm_paper.claims.evidence import Evidence, Values
from kerhrm_paper.claims.settings import FIRST_PERIOD, LATER_PERIODS


def later(evidence: Evidence, method: str) -> Values:
    """Mean squared error of a method, the mean over the later periods."""
    error = evidence.cells("figure3", "mse")
    weights = {method: 1}
    return error.weighted(weights, over=LATER_PERIODS)


def better_later(
    evidence: Evidence, method: str, *, than: tuple[str, ...]
) -> Comparison:
    """A method has a smaller error than each of some others over the later periods."""
    error = evidence.cells("figure3", "mse")
    of_method = later(evidence, method)
    tests = []
    for other in than:
        of_other = later(evidence, other)
        test = error.better(of_method, than=of_other)
        tests.append(test)
    return all_of(tests)


@claim
def shift_grows_with_the_period(evidence: Evidence) -> Comparison:
    """Claim 48 (5.2, Figure 3): The shift grows with the period.

    By what it costs least squares.
    """
    error = evidence.cells("figure3", "mse")
    periods = (FIRST_PERIOD, *LATER_PERIODS)
    return error.rising("ref: least squares", over=periods)


@claim
def errors_of_erm_and_dro_rise(evidence: Evidence) -> Comparison:
    """Claim 49 (5.2, Figure 3): Errors of ERM and DRO rise sharply over the periods.

    From the first to the last period they double.
    """
    error = evidence.cells("figure3", "mse")
    last_period = LATER_PERIODS[-1]
    tests = []
    for method in ("ERM", "DRO"):
        last = error.at(last_period, method)
        twice = {method: 2}
        twice_first = error.weighted(twice, at=FIRST_PERIOD)
        test = error.more(last, than=twice_first)
        tests.append(test)
    return all_of(tests)


@claim
def irm_is_better_than_erm_and_dro(evidence: Evidence) -> Comparison:
    """Claim 50 (5.2, Figure 3): IRM is better than ERM and DRO."""
    return better_later(evidence, "IRM", than=("ERM", "DRO"))


@claim
def kerhrm_is_better_than_eiil_and_hrm(evidence: Evidence) -> Comparison:
    """Claim 51 (5.2, Figure 3): KerHRM outperforms EIIL and HRM."""
    return better_later(evidence, "KerHRM", than=("EIIL", "HRM"))


@claim
def kerhrm_is_better_than_irm(evidence: Evidence) -> Comparison:
    """Claim 52 (5.2, Figure 3): KerHRM outperforms IRM on house prices."""
    error = evidence.cells("figure3", "mse")
    kerhrm = later(evidence, "KerHRM")
    irm = later(evidence, "IRM")
    return error.better(kerhrm, than=irm)
