"""Claims of Section 4, with its theorems, and of Appendices A.3 and A.4."""

from kerhrm_paper.claims.comparison import Comparison
from kerhrm_paper.claims.declare import (
    ShownByTest,
    claim,
    contradicted_by,
    supported_by,
)
from kerhrm_paper.claims.evidence import Evidence
from kerhrm_paper.claims.settings import CORRUPTED, TURNED


@claim
def better_environments_help(evidence: Evidence) -> Comparison:
    """Claim 18 (4): Better learned environments benefit the invariant predictor."""
    correlations = evidence.small_run("corrupted")
    return correlations.correlated("accuracy with right points", len(CORRUPTED))


@claim
def variant_part_varies_more(_: Evidence) -> ShownByTest:
    """Claim 19 (Lemma 4.1): Environments differ in P(Y|X) by at most as much as in
    P(Y|Psi_V).

    Effect: nats, of P(Y|X) less P(Y|Psi_V), at most.
    """
    return supported_by(
        "test_identities.py::test_the_variant_part_varies_more", effect=-0.002141
    )


@claim
def objective_is_rate_and_distortion(_: Evidence) -> ShownByTest:
    """Claim 20 (Theorem 4.1): L_c is a rate and a distortion: I(I;J) + E d / (2
    sigma^2).

    Effect: difference of the two sides.
    """
    return supported_by(
        "test_identities_of_fits.py::test_the_objective_is_rate_and_distortion",
        effect=0.0,
    )


@claim
def better_theta_gives_more_heterogeneity(evidence: Evidence) -> Comparison:
    """Claim 22 (4, Theorem 4.2): A better theta_inv gives a better Psi_V, and more
    heterogeneity."""
    correlations = evidence.small_run("turned")
    return correlations.correlated("divergence with invariance", len(TURNED))


@claim
def example_comes_true(_: Evidence) -> ShownByTest:
    """Claim 23 (4, example): In the example, theta_inv = Psi_S and Psi_V = Y beta_e
    Psi_V.

    Effect: distance of the two from those at a large penalty.
    """
    return supported_by(
        "test_identities_of_fits.py::test_the_example_comes_true", effect=0.0
    )


@claim
def printed_inverses_exist(_: Evidence) -> ShownByTest:
    """Claim 24 (A.3): Two printed forms of Theta_j, each with an inverse, are equal.

    Effect: ranks that the two matrices lack.
    """
    return contradicted_by(
        "test_identities_of_fits.py::test_neither_inverse_exists", effect=987.0
    )


@claim
def ntfs_are_less_powerful(evidence: Evidence) -> Comparison:
    """Claim 54 (A.4): NTFs are less powerful than deep representations."""
    numbers = evidence.small_run("low_rank")
    return numbers.more("error with all", than="error of the trained network")
