"""Clustering step (M_c): from reduced features to inferred environments.

For every candidate dimension k, mixtures are fitted from many initialisations and with
every candidate ridge.  Degenerate ones, whose environments only repeat the label or
leave fewer than two environments occupied, are set aside; among the others the one with
the highest held-out likelihood

    (1/m) sum_i log p(y_i | psi_i)      over the pooled validation points

wins.  K is an upper bound: an environment that EM has emptied is dropped and the others
stay. Neither test data nor true environments are looked at.

Environment = label is a genuine optimum of the mixture likelihood: inside such an
environment the label is constant, the residual vanishes, and nothing can be learned
about invariance.  With many clusters it is often the likelier optimum, so the
likelihood cannot reject it; the environment's normalised mutual information with the
label can.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from kerhrm.algorithm.clustering import infer_environments
from kerhrm.algorithm.needs import require_clustering
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.algorithm.variant import Variant
from kerhrm.errors import KerhrmError
from kerhrm.progress import progress


def learn_environments(
    problem: Problem,
    options: KerHRMOptions,
    t: int,
    environments: Sequence[Environments],
    directions: Sequence[Directions],
    inputs: tuple[Tensor, Tensor] | None = None,
) -> Environments:
    """Infer the environments of iteration t (M_c).

    The first iteration tries every k of the options.  Later ones keep the k that the
    iteration before has chosen, and take its direction (and, with ``projection="all"``,
    those of all iterations before) out of Psi, which leaves nothing of k = 1.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    options : KerHRMOptions
        Of Algorithm 1.
    t : int
        Iteration, from 1.
    environments, directions : sequences of length t - 1
        What iterations 1, ..., t - 1 left.
    inputs : two Tensors, (n, d) and (m, d), optional
        Training and validation points, which ``first_kernel="inputs"`` clusters at
        first.

    Returns
    -------
    Environments
        One candidate for each k.

    Raises
    ------
    KerhrmError
        If k exceeds the reduced features, n_environments the points, all features or
        labels are zero, inputs are needed and not given, or the environments and
        directions are not those of all iterations before.
    SingularError
        If rounding makes the equations of a regression singular.
    TooLittleMemory
        As :func:`~kerhrm.algorithm.needs.require_clustering`.
    """
    if len(environments) != t - 1 or len(directions) != t - 1:
        before = f"the environments and directions of all {t - 1} before"
        hint = f"pass those of iterations 1 to {t - 1}, in order"
        raise KerhrmError(f"iteration {t} needs {before}", hint)
    if t > 1:
        return _later(problem, options, environments, directions)
    k_max = len(problem.s)
    if k_max < max(options.k):
        text = f"k={max(options.k)} exceeds the {k_max} reduced features"
        raise KerhrmError(text, "lower k")
    if options.first_kernel == "inputs":
        if inputs is None:
            text = "first_kernel='inputs' needs the points x"
            raise KerhrmError(text, "pass inputs=(x, x_validation)")
        return _of_inputs(problem, options, inputs)
    largest_k = max(options.k)
    require_clustering(problem, options, problem.u[:, :largest_k], later=False)
    candidates: list[Environments] = []
    for k in progress(options.k, "clusterings"):
        psi, psi_validation = problem.reduced(k)
        variant = Variant(psi, psi_validation, t=1)
        smaller = candidates[-1] if candidates else None
        candidates.append(infer_environments(problem, options, variant, smaller))
    return Environments.stack(candidates)


def _later(
    problem: Problem,
    options: KerHRMOptions,
    environments: Sequence[Environments],
    directions: Sequence[Directions],
) -> Environments:
    """Environments of a later iteration, with the k and without the direction of the
    one before."""
    winners = [d.winner(t) for t, d in enumerate(directions, start=1)]
    newest = winners[-1]
    taken_out = winners if options.projection == "all" else [newest]
    require_clustering(problem, options, problem.u[:, : newest.k], later=True)
    psi, psi_validation = problem.reduced(newest.k)
    variant = Variant(
        psi,
        psi_validation,
        t=len(directions) + 1,
        taken_out=[winner.theta for winner in taken_out],
    )
    before = environments[-1].candidate(newest.k)
    candidate = infer_environments(problem, options, variant, before)
    return Environments.stack([candidate])


def _of_inputs(
    problem: Problem, options: KerHRMOptions, inputs: tuple[Tensor, Tensor]
) -> Environments:
    """Environments of the inputs (n, d), (m, d): one clustering serves every k."""
    x, x_validation = inputs
    require_clustering(problem, options, x, later=False)
    inputs_train = x.double()
    inputs_validation = x_validation.double()
    variant = Variant(inputs_train, inputs_validation, t=1)
    clustering = infer_environments(problem, options, variant, before=None)
    n_columns = x.shape[-1]
    slopes = clustering.slopes[:, :n_columns]
    candidates = []
    for k in options.k:
        dimension = torch.full_like(clustering.k, k)
        candidates.append(replace(clustering, slopes=slopes, k=dimension))
    return Environments.stack(candidates)


def choose_n_environments(
    problem: Problem,
    options: KerHRMOptions,
    largest: int,
    inputs: tuple[Tensor, Tensor] | None = None,
) -> int:
    """Number of environments, 1 to ``largest``, by the held-out likelihood of first
    clusterings.

    The smallest number that falls short of the likeliest by no more than one standard
    error of their difference (Breiman et al. 1984), both by the validation points'
    weights.  Every number has its best k, of those that leave an environment as many
    training points; degenerate clusterings do not count.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    options : KerHRMOptions
        Of Algorithm 1; their ``n_environments`` does not count.
    largest : int
        Number that is tried last.
    inputs : two Tensors, (n, d) and (m, d), optional
        Training and validation points, which ``first_kernel="inputs"`` clusters, as the
        fit does.

    Returns
    -------
    int
        The number; 1: nothing tells environments apart.

    Raises
    ------
    KerhrmError
        If fewer than two validation points have a positive weight, and as
        :func:`learn_environments`.
    """
    by_number = []
    numbers = range(1, largest + 1)
    for n_environments in progress(numbers, "numbers of environments"):
        likelihoods = _held_out_likelihoods(problem, options, n_environments, inputs)
        by_number.append(likelihoods)
    _, counts = problem.counts
    return _smallest_within_one_error(torch.stack(by_number), counts)


def _held_out_likelihoods(
    problem: Problem,
    options: KerHRMOptions,
    n_environments: int,
    inputs: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Log-likelihoods (m,) of the validation points by the best k's first clustering.

    Minus infinity, if that of every k is degenerate.
    """
    target = problem.target_validation
    if options.clustering_target == "label":
        target = problem.y_validation.double()
    most = max(1, len(problem.y) // n_environments)
    lowered = dict.fromkeys(min(k, most) for k in options.k)
    update = {"n_environments": n_environments, "k": [*lowered]}
    tried = options.model_copy(update=update)
    candidates = learn_environments(problem, tried, 1, [], [], inputs)
    degenerate = candidates.degenerate
    eligible = candidates.held_out.masked_fill(degenerate, -torch.inf)
    best = int(eligible.argmax())
    if bool(degenerate[best]):
        return torch.full_like(target, -torch.inf)
    k = int(candidates.k[best])
    slopes = candidates.slopes[best]
    points = problem.psi_validation
    if inputs is not None and options.first_kernel == "inputs":
        _, points = inputs
    means = points.double() @ slopes.mT
    return candidates.log_likelihoods(k, means, target)


def _smallest_within_one_error(likelihoods: Tensor, counts: Tensor) -> int:
    """The smallest number whose mean log-likelihood is near the best one's.

    Of the numbers 1, 2, ..., whose points have ``likelihoods`` (N, m) and weights
    ``counts`` (m,): the shortfall is at most its standard error.
    """
    counted = counts > 0
    likelihoods = likelihoods[:, counted]
    shares = counts[counted] / counts.sum()
    n = len(shares)
    if n < 2:
        raise KerhrmError(
            "one validation row cannot choose the number of environments",
            "give more (validation_fraction), or n_environments=2",
        )
    means = likelihoods @ shares
    likeliest = means.argmax()
    shortfall = likelihoods[likeliest] - likelihoods
    mean_shortfall = shortfall @ shares
    deviations = shortfall - mean_shortfall[:, None]
    squares = (shares * deviations) ** 2
    variance = squares.sum(1) * n / (n - 1)
    near = mean_shortfall <= variance.sqrt()
    first_near = int(near.to(torch.int8).argmax())
    return 1 + first_near
