"""Memory that the steps of Algorithm 1 take at least, asked for before they start.

Only arrays that surely exist together are counted, in bytes, so that no step is refused
that could have run.  PyTorch itself says what a GPU does not hold.
"""

from collections.abc import Sequence

from torch import Tensor

from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Memberships
from kerhrm.algorithm.regressions import PRODUCTS_LIMIT
from kerhrm.memory import require, size_of
from kerhrm.networks.base import Network
from kerhrm.networks.training import NARROWER, training_bytes

DOUBLE, SINGLE = 8, 4  #: bytes of a number
FEWER = "use fewer points or a smaller k, or a machine with more memory"


def require_clustering(
    problem: Problem,
    options: KerHRMOptions,
    psi: Tensor,
    *,
    later: bool,
) -> None:
    """Refuse a clustering (M_c) that needs more memory than there is.

    The features stand next to their squares, or next to the products of their columns
    and what EM holds: the starts, the responsibilities and the residuals.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    options : KerHRMOptions
        Of Algorithm 1.
    psi : Tensor, (n, k)
        What is clustered, in any precision.
    later : bool
        Whether a direction is taken out of it.

    Raises
    ------
    TooLittleMemory
        In one line, with both numbers.
    """
    if psi.is_cuda:
        return
    n, k = psi.shape
    m = len(problem.y_validation)
    n_columns = k + int(options.clustering_intercept)
    # Psi stays next to Psi_V, or next to Psi with a column for the intercept
    n_kept = int(later or options.clustering_intercept)
    n_cast = int(psi.element_size() != DOUBLE)
    n_starts = 1 if options.init == "nested" else options.n_init
    n_mixtures = n_starts * len(options.clustering_ridge)
    starts = DOUBLE * n_mixtures * n * options.n_environments
    # of one cluster the responsibilities are the starts
    n_in_em = 3 if options.n_environments > 1 else 2
    features = DOUBLE * n * n_columns
    n_products = n * n_columns * (n_columns + 1) // 2
    products = 0
    if n_products <= PRODUCTS_LIMIT:
        products = DOUBLE * n_products + features
    validation = DOUBLE * m * k * (n_kept + n_cast)
    largest = max(features + starts, products + n_in_em * starts)
    n_bytes = size_of(vars(problem).values()) + validation
    n_bytes += n_kept * DOUBLE * n * k + features + largest
    require(n_bytes, f"the clustering step (M_c) of {n} points with k={k}", FEWER)


def require_directions(
    problem: Problem, environments: Sequence[Memberships], options: KerHRMOptions
) -> None:
    """Refuse directions (M_p) that need more memory than there is.

    The features stand next to their squares, then next to the scores of all candidates
    and the memberships in all environments.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    environments : sequence
        Of all iterations so far.
    options : KerHRMOptions
        Of Algorithm 1.

    Raises
    ------
    TooLittleMemory
        In one line, with both numbers.
    """
    if problem.u.is_cuda:
        return
    n = len(problem.y)
    m = len(problem.y_validation)
    dimensions = environments[-1].k.tolist()
    k = max(dimensions)
    number = problem.u.element_size()
    features = 2 * DOUBLE * n * k
    if number != DOUBLE:
        features += DOUBLE * m * k
    n_candidates = len(dimensions) * len(options.alpha)
    n_environments = 0
    kept = size_of(vars(problem).values())
    for of_iteration in environments:
        kept += size_of([of_iteration.train, of_iteration.validation])
        n_environments += of_iteration.train.shape[0] * of_iteration.train.shape[-1]
    scores = 0
    if options.stop_by == "worst_inferred":
        scores = DOUBLE * n * dimensions[-1] + number * n_candidates * n
        scores += DOUBLE * (n_candidates + n_environments) * (2 * n + m)
    what = f"the invariant-learning step (M_p) of {n} points with k={k}"
    require(kept + max(features, scores), what, FEWER)


def require_network(
    network: Network, x: Tensor, x_validation: Tensor, problem: Problem
) -> None:
    """Refuse a training along a direction that needs more memory than there is.

    U stands next to its copy in the precision of the points (n, d), then that copy next
    to the network's hidden layers.

    Raises
    ------
    TooLittleMemory
        In one line, with both numbers.
    """
    if x.is_cuda:
        return
    n, k = problem.u.shape
    number = problem.u.element_size()
    of_problem = size_of(vars(problem).values())
    kept = of_problem + size_of([x, x_validation, *network.weights.values()])
    copy = SINGLE * n * k
    masked = number * n * k
    if number != SINGLE:
        masked += copy
    trained = copy + training_bytes(network, x)
    what = f"the training of a network on {n} points with k={k}"
    require(kept + max(masked, trained), what, NARROWER)
