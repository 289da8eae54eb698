"""What Algorithm 1 may be told where nothing is added to its words."""

from kerhrm.algorithm.options import (
    IGD,
    Clustering,
    Heterogeneity,
    Invariance,
    KerHRM,
    LastIteration,
    SelectionRule,
)
from kerhrm.sections import option


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
