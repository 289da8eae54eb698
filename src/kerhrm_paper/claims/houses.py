"""Claims of Section 5.2 on house prices, Figure 3."""

from kerhrm_paper.claims.comparison import Comparison, all_of
from kerhrm_paper.claims.declare import claim
from kerhrm_paper.claims.evidence import Evidence, Values
from kerhrm_paper.claims.settings import FIRST_PERIOD, LATER_PERIODS


def later(evidence: Evidence, method: str) -> Values:
    """Mean squared error of a method, the mean over the later periods."""
    error = evidence.cells("figure3", "mse")
    return error.weighted({method: 1}, over=LATER_PERIODS)


@claim
def shift_grows_with_the_period(evidence: Evidence) -> Comparison:
    """Claim 48 (5.2, Figure 3): The shift grows with the period.

    By what it costs least squares.
    """
    error = evidence.cells("figure3", "mse")
    return error.rising("ref: least squares", over=(FIRST_PERIOD, *LATER_PERIODS))


@claim
def errors_of_erm_and_dro_rise(evidence: Evidence) -> Comparison:
    """Claim 49 (5.2, Figure 3): Errors of ERM and DRO rise sharply over the periods.

    From the first to the last period they double.
    """
    error = evidence.cells("figure3", "mse")
    return all_of(
        error.more(
            error.at(LATER_PERIODS[-1], method),
            than=error.weighted({method: 2}, at=FIRST_PERIOD),
        )
        for method in ("ERM", "DRO")
    )


@claim
def irm_is_better_than_erm_and_dro(evidence: Evidence) -> Comparison:
    """Claim 50 (5.2, Figure 3): IRM is better than ERM and DRO."""
    error = evidence.cells("figure3", "mse")
    return all_of(
        error.better(later(evidence, "IRM"), than=later(evidence, method))
        for method in ("ERM", "DRO")
    )


@claim
def kerhrm_is_better_than_eiil_and_hrm(evidence: Evidence) -> Comparison:
    """Claim 51 (5.2, Figure 3): KerHRM outperforms EIIL and HRM."""
    error = evidence.cells("figure3", "mse")
    return all_of(
        error.better(later(evidence, "KerHRM"), than=later(evidence, method))
        for method in ("EIIL", "HRM")
    )


@claim
def kerhrm_is_better_than_irm(evidence: Evidence) -> Comparison:
    """Claim 52 (5.2, Figure 3): KerHRM outperforms IRM on house prices."""
    error = evidence.cells("figure3", "mse")
    return error.better(later(evidence, "KerHRM"), than=later(evidence, "IRM"))
