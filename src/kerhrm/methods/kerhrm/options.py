"""What Algorithm 1 may be told where one job runs it: as printed, or one option set of many."""

from kerhrm.algorithm.options import (
    IGD,
    Clustering,
    Heterogeneity,
    Invariance,
    KerHRM,
    LastIteration,
    SelectionRule,
)
from kerhrm.sections import Count, NonNegative, Section, option


class Direction(Section):
    """One dimension and one weight for all seeds."""

    k: Count = option(15, "reduced dimension")
    alpha: NonNegative = option(1.0, "weight of M_p's penalty")

    def of(self, kerhrm: KerHRM) -> KerHRM:
        """KerHRM's options, with this choice in place of theirs."""
        invariance = kerhrm.invariance.model_copy(update={"alpha": [self.alpha]})
        return kerhrm.model_copy(update={"k": [self.k], "invariance": invariance})


class Choice(Direction):
    """One option set of KerHRM for all seeds."""

    penalty: NonNegative = option(100.0, "lambda of step 3")

    def of(self, kerhrm: KerHRM) -> KerHRM:
        """KerHRM's options, with this choice in place of theirs."""
        network = kerhrm.network.model_copy(update={"penalty": [self.penalty]})
        return super().of(kerhrm).model_copy(update={"network": network})


class Literal(KerHRM):
    """Algorithm 1 as printed.

    Clusters regress y from one start, none is set aside, M_p sums over environments, k, alpha and
    lambda are chosen by pooled validation (the paper's rule) in every iteration, the last one's
    direction counts, the penalty has |cos|, and the network is trained until its objective has
    stopped falling.  What the paper does not say (ridges, grids, T, the optimiser), or says in two
    ways (the kernel of the first iteration and of later ones), is as in KerHRM.
    """

    clustering: Clustering = option(
        Clustering(
            restarts=1, ridge=[1e-2], target="label", max_label_information=1.0, min_share=0.0
        ),
        "M_c",
    )
    invariance: Invariance = option(Invariance(total="sum"), "M_p")
    network: IGD = option(IGD(cosine="absolute", steps=600, check_every=None), "step 3")
    selection: SelectionRule = option("pooled", "what picks k, alpha and lambda")
    end: LastIteration = option("last", "direction of the best iteration by that rule, or the last")
    guard: Heterogeneity | None = option(None, "test that the paper does not have")
