"""Claims of Section 3: features, invariance and clustering of KerHRM."""

from kerhrm_paper.claims.comparison import Comparison, all_of
from kerhrm_paper.claims.declare import (
    ShownByTest,
    claim,
    contradicted_by,
    supported_by,
)
from kerhrm_paper.claims.evidence import Evidence


@claim
def smallest_set_needs_most_variation(_: Evidence) -> ShownByTest:
    """Claim 10 (3, remark): The invariance set is smallest if and only if P(Y|Psi_V)
    varies most.

    Effect: pairs of environments with the smallest set but less variation.
    """
    return contradicted_by(
        "test_identities.py::test_any_variation_leaves_the_smallest_set", effect=9.0
    )


@claim
def low_rank_suffices(evidence: Evidence) -> Comparison:
    """Claim 11 (3.1): A low rank k suffices.

    The accuracy is less by .02 at most, the error larger by 10 % at most.
    """
    numbers = evidence.small_run("low_rank")
    largest_error = numbers.weighted({"error with all": 1.1})
    return all_of(
        [
            numbers.more("accuracy with k", than="accuracy with all", by=-0.02),
            numbers.more(largest_error, than="error with k"),
        ]
    )


@claim
def reduced_fit_is_the_same(_: Evidence) -> ShownByTest:
    """Claim 12 (3.1): Fitting w - w_0 on Phi is fitting theta on Psi.

    Effect: relative distance of w - w_0 and V theta.
    """
    return supported_by(
        "test_identities_of_fits.py::test_the_reduced_fit_is_the_same", effect=0.0
    )


@claim
def penalty_aligns_the_network(evidence: Evidence) -> Comparison:
    """Claim 13 (3.1): The cosine's penalty makes w - w_0 nearly parallel to V theta.

    More than half of its squared length is along V theta.
    """
    numbers = evidence.small_run("cosine_penalty")
    return numbers.more("share along V theta", than=0, by=0.5)


@claim
def penalty_turns_the_reduced_change(evidence: Evidence) -> Comparison:
    """Claim 55 (3.1): The penalty makes S^-1 U^T (f_w - f_w0) parallel to theta_inv.

    The absolute cosine is above .9.
    """
    numbers = evidence.small_run("cosine_penalty")
    return numbers.more("cosine in reduced directions", than=0, by=0.9)


@claim
def penalty_makes_the_network_invariant(evidence: Evidence) -> Comparison:
    """Claim 14 (3.1): The penalty forces the network to be invariant."""
    numbers = evidence.small_run("cosine_penalty")
    return numbers.more("accuracy with penalty", than="accuracy without")


@claim
def variant_part_captures_variation(evidence: Evidence) -> Comparison:
    """Claim 15 (3.2): Psi_V captures variant components better than Psi.

    By the R2 of the attribute A less that of S.
    """
    numbers = evidence.small_run("variant_part")
    of_variant = numbers.weighted({"Psi_V on A": 1, "Psi_V on S": -1})
    of_all = numbers.weighted({"Psi on A": 1, "Psi on S": -1})
    return numbers.more(of_variant, than=of_all)


@claim
def clustering_is_convex(_: Evidence) -> ShownByTest:
    """Claim 16 (3.3): Least D_KL(P_N || Q) is least L_c, and the clustering is convex.

    Effect: nats by which L_c half-way between two optima is above them.
    """
    return contradicted_by(
        "test_identities_of_fits.py::test_the_clustering_is_not_convex", effect=6.04954
    )


@claim
def kernel_regression_allows_a_large_k(_: Evidence) -> ShownByTest:
    """Claim 17 (3.3): Kernel regression allows a large k.

    Effect: relative distance of the fits by n x n and by k x k systems.
    """
    return supported_by(
        "test_identities_of_fits.py::test_the_kernel_form_is_the_same", effect=0.0
    )
