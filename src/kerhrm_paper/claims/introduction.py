"""Claims of the abstract and of Sections 1 and 2: the problem, and earlier methods."""

from kerhrm_paper.claims.comparison import Comparison, all_of, at_least
from kerhrm_paper.claims.declare import (
    ShownByTest,
    claim,
    contradicted_by,
    supported_by,
)
from kerhrm_paper.claims.evidence import Evidence
from kerhrm_paper.claims.settings import LATER_PERIODS, RATES, SELECTIONS


@claim
def erm_fails_under_shift(evidence: Evidence) -> Comparison:
    """Claim 1 (abstract, 1): ERM usually fails when test data are distributed
    otherwise.

    In 8 of 15 settings a prediction without features is better.
    """
    tests = []
    for rate in RATES:
        accuracy = evidence.cells("table1", "test_acc", rate)
        test = accuracy.better("ref: majority", than="ERM")
        tests.append(test)
    for selection in SELECTIONS:
        error = evidence.cells("table3", "mean_error", selection)
        test = error.better("ref: predict zero", than="ERM")
        tests.append(test)
    colours = evidence.cells("table4", "test_acc", "cmnist")
    test = colours.better("ref: majority", than="ERM")
    tests.append(test)
    for period in LATER_PERIODS:
        error = evidence.cells("figure3", "mse", period)
        test = error.better("ref: predict the mean", than="ERM")
        tests.append(test)
    return at_least(8, tests)


@claim
def training_is_linear_regression(_: Evidence) -> ShownByTest:
    """Claim 2 (1, 3.1): Training the network is linear regression on NTFs.

    Effect: share of test labels that differ after 200 steps, mean of eight draws.
    """
    return supported_by(
        "test_identities_of_fits.py::test_training_is_linear_regression", effect=0.0004
    )


@claim
def eiil_depends_on_its_reference(evidence: Evidence) -> Comparison:
    """Claim 3 (1, A.4): EIIL depends heavily on its reference model."""
    accuracy = evidence.small_run("eiil_reference")
    return accuracy.more("short reference", than="long reference", by=0.02)


@claim
def invariant_representations_lose_heterogeneity(evidence: Evidence) -> Comparison:
    """Claim 4 (1, A.4): Environments inferred from invariant representations lose
    heterogeneity."""
    numbers = evidence.small_run("variant_part")
    return numbers.more("divergence from Psi_V", than="divergence from psi^T theta_inv")


@claim
def hrm_needs_unmixed_features(evidence: Evidence) -> Comparison:
    """Claim 5 (1, 2): HRM works on features that are invariant or variant each, not on
    mixtures."""
    accuracy = evidence.cells("table1", "test_acc")
    tests = []
    for rate in RATES:
        of_unmixed = evidence.cells("table1", "test_acc", f"{rate},H=I")
        test = of_unmixed.better("HRM", than="ERM")
        tests.append(test)
    for rate in RATES:
        unmixed = accuracy.at(f"{rate},H=I", "HRM")
        mixed = accuracy.at(rate, "HRM")
        test = accuracy.more(unmixed, than=mixed, by=0.02)
        tests.append(test)
    return all_of(tests)


@claim
def both_steps_promote_each_other(evidence: Evidence) -> Comparison:
    """Claim 6 (1, 3): M_c and M_p promote each other over the iterations."""
    numbers = evidence.small_run("iterations")
    return all_of(
        [
            numbers.more("last divergence", than="first divergence"),
            numbers.more("last accuracy", than="first accuracy"),
        ]
    )


@claim
def invariance_depends_on_environments(_: Evidence) -> ShownByTest:
    """Claim 7 (2): I_E is a subset of I_Etr: what is invariant depends on the given
    environments.

    Effect: representations of I_E that are missing in some I_Etr.
    """
    return supported_by(
        "test_identities.py::test_more_environments_leave_fewer_representations",
        effect=0.0,
    )


@claim
def label_given_s_is_stable(_: Evidence) -> ShownByTest:
    """Claim 8 (Assumption 2.1): P(Y|S) is the same in all environments of the
    experiments.

    Effect: total variation between two environments of Table 3, at f(S) = 1.
    """
    return contradicted_by(
        "test_identities.py::test_selection_changes_the_label_given_s", effect=0.043754
    )


@claim
def invariant_predictor_is_minimax(_: Evidence) -> ShownByTest:
    """Claim 9 (Theorem 2.1, A.3.1): E[Y|Psi_S] is minimax, Psi_S the maximal invariant
    predictor.

    Effect: its worst risk less the smallest worst risk.
    """
    return supported_by(
        "test_identities.py::test_the_invariant_predictor_is_minimax", effect=0.0
    )
