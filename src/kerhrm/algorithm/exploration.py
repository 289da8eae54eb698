"""Step "M_c" of an iteration: from reduced features to learned environments.

For every candidate dimension k, mixtures are fitted from many starts and for every ridge on
trial.  Starts whose environments only repeat the label, or that leave fewer than two
environments occupied, are set aside; among the others the one with the highest held-out
likelihood

    (1/m) sum_i log p(y_i | psi_i)      over the pooled validation points

wins.  K is an upper bound: an environment that EM has emptied says nothing against the
others, so it is dropped and they stay.  Neither test data nor true environments are looked at.

Starts are random.  The larger k, the more of them end in a split that is not quite the best; if
they are *nested*, only the first k on trial begins at random, and each further one with the
environments that the k before it has found.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from kerhrm.algorithm.degeneracy import label_bins, label_information
from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts
from kerhrm.algorithm.options import Clustering, KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.errors import KerhrmError


def learn_environments(
    problem: Problem,
    options: KerHRM,
    t: int,
    last: Directions | None,
    begin: Environments | None = None,
) -> Environments:
    """M_c of iteration t = 1, 2, ...

    The first iteration tries every k of ``options``, on Psi as it is.  Later ones keep the k
    that the iteration before has chosen, and take its direction, ``last``, out of Psi; nested
    starts begin with its environments, ``begin``.

    Raises
    ------
    KerhrmError
        If k exceeds the columns of Psi, K the number of points, or all features or labels
        are zero.
    """
    if last is None:
        if (most := problem.s.shape[-1]) < max(options.k):
            raise KerhrmError(f"k={max(options.k)} exceeds the {most} reduced features", "lower k")
        k = torch.tensor(options.k, device=problem.y.device).expand(len(problem.y), -1)
        return explore(problem, k, options.clustering, iteration=t)
    k, theta = last.winner.k.unsqueeze(1), last.winner.theta
    start = None
    if options.clustering.starts == "nested" and begin is not None:
        start = begin.take(torch.arange(len(k), device=k.device), (begin.k == k).int().argmax(1))
    return explore(problem, k, options.clustering, iteration=t, theta=theta, begin=start)


def explore(
    problem: Problem,
    k: Tensor,
    options: Clustering,
    *,
    iteration: int,
    theta: Tensor | None = None,
    begin: Environments | None = None,
) -> Environments:
    """Learn environments for every seed and candidate dimension.

    Parameters
    ----------
    k : Tensor, (B, G), int64
        Candidate k uses the first k columns of Psi.
    iteration : int
        t = 1, 2, ...; names the random stream of the starts.
    theta : Tensor, (B, k_max), optional
        Invariant direction of the last iteration, zero beyond the seed's k; then G = 1 and
        Psi_V is Psi without it.  In the first iteration Psi_V = Psi.
    begin : Environments, (B,), optional
        What nested starts begin with.
    """
    bins = label_bins(problem.y)
    return Environments.stack(
        Environments.stack(
            _explore_seed(
                problem,
                b,
                dimensions,
                bins[b],
                options,
                iteration,
                None if theta is None else theta[b],
                None if begin is None else begin.take(b),
            )
        )
        for b, dimensions in enumerate(k.tolist())
    )


def _explore_seed(
    problem: Problem,
    b: int,
    dimensions: list[int],
    bins: Tensor,
    options: Clustering,
    iteration: int,
    theta: Tensor | None,
    begin: Environments | None,
) -> Iterator[Environments]:
    """Environments of one data set for every k, without a leading axis."""
    for k in dimensions:
        psi, held_out = problem.reduced(b, k)
        if theta is not None:
            psi, held_out = (orthogonal_update(p, theta[:k]) for p in (psi, held_out))
        if options.starts == "nested" and begin is not None and bool(begin.usable):
            starts = _whole(begin.train)[None]
        else:
            name = f"t={iteration}", f"k={k}"
            size = options.restarts, len(psi), options.clusters
            starts = random_starts(problem.seeds[b : b + 1], *size, *name)[0].to(psi)
        points = psi, problem.target[b].double()
        validation = held_out, problem.target_validation[b].double()
        begin = _best_start(points, validation, starts, bins, options)
        yield begin


def _whole(responsibilities: Tensor) -> Tensor:
    """Responsibilities (n, K) that add up to one again, those of dropped environments gone."""
    total = responsibilities.sum(-1, keepdim=True)
    spread = torch.full_like(responsibilities, 1 / responsibilities.shape[-1])
    return torch.where(total > 0, responsibilities / total, spread)


def _best_start(
    points: tuple[Tensor, Tensor],
    validation: tuple[Tensor, Tensor],
    starts: Tensor,
    bins: Tensor,
    options: Clustering,
) -> Environments:
    """Fit from starts (R, n, K) to points (n, k), (n,), with every ridge; the best usable fit."""
    psi, y = points
    ridges = torch.tensor(options.ridge, dtype=psi.dtype, device=psi.device)
    ridges = ridges.repeat_interleave(len(starts))
    mixtures = fit_mixture(
        psi[None],
        y[None],
        starts.repeat(len(options.ridge), 1, 1)[None],
        ridge=ridges,
        sigma=options.sigma,
        max_iterations=options.max_iterations,
        tolerance=options.tolerance,
    ).take(0)
    responsibilities = mixtures.responsibilities(psi, y)
    information = label_information(responsibilities, bins)
    label_split = information > options.max_label_information
    occupied = mixtures.weights >= options.min_share  # (R, K)
    empty = occupied.sum(-1) < min(2, options.clusters)
    degenerate = label_split | empty
    held_out = mixtures.log_likelihood(*validation)
    usable = ~degenerate.all()
    # where every start is degenerate the likeliest one stands in, marked as not usable
    eligible = torch.where(usable, ~degenerate, True)
    best = held_out.masked_fill(~eligible, -torch.inf).argmax()
    winner = mixtures.take(best)
    kept = (occupied[best] | ~usable).to(psi)  # (K,)
    return Environments(
        k=torch.full_like(best, psi.shape[-1]),
        train=kept * responsibilities[best],
        validation=kept * winner.responsibilities(*validation),
        ridge=ridges[best],
        held_out=held_out[best],
        objective=winner.objective,
        label_information=information[best],
        usable=usable,
        n_starts=torch.full_like(best, len(degenerate)),
        n_label_split=label_split.sum(),
        n_empty=empty.sum(),
        n_unconverged=(~mixtures.converged).sum(),
    )
