"""Step "M_c" of an iteration: from reduced features to learned environments.

For every candidate dimension k, mixtures are fitted from many random starts and for
every ridge on trial.  Starts whose environments only repeat the label, or that leave fewer than
two environments occupied, are set aside; among the others the one with the highest held-out
likelihood

    (1/m) sum_i log p(y_i | psi_i)      over the pooled validation points

wins.  K is an upper bound: an environment that EM has emptied says nothing against the
others, so it is dropped and they stay.  Neither test data nor true environments are looked at.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from kerhrm.algorithm.degeneracy import label_bins, label_information
from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts
from kerhrm.algorithm.options import Clustering, KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.errors import KerhrmError


def learn_environments(
    problem: Problem, options: KerHRM, t: int, last: Directions | None
) -> Environments:
    """M_c of iteration t = 1, 2, ...

    The first iteration tries every k of ``options``, on Psi as it is.  Later ones keep the k
    that the iteration before has chosen, and take its direction out of Psi.

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
    return explore(problem, k, options.clustering, iteration=t, theta=theta)


def explore(
    problem: Problem,
    k: Tensor,
    options: Clustering,
    *,
    iteration: int,
    theta: Tensor | None = None,
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
    """
    psi, psi_validation = problem.psi_train, problem.psi_validation
    bins = label_bins(problem.y)
    found: list[list[Environments]] = [[] for _ in problem.seeds]
    for g in range(k.shape[1]):
        for value in k[:, g].unique().tolist():
            rows = (k[:, g] == value).nonzero().squeeze(-1)
            features, held_out = psi[rows, :, :value], psi_validation[rows, :, :value]
            if theta is not None:
                features = orthogonal_update(features, theta[rows, :value])
                held_out = orthogonal_update(held_out, theta[rows, :value])
            part = _explore_one_dimension(
                features,
                problem.target[rows],
                held_out,
                problem.target_validation[rows],
                bins[rows],
                options,
                [problem.seeds[row] for row in rows.tolist()],
                (f"t={iteration}", f"k={value}"),
            )
            for i, row in enumerate(rows.tolist()):
                found[row].append(part.take(i))
    return Environments.stack(map(Environments.stack, found))


def _explore_one_dimension(
    psi: Tensor,
    y: Tensor,
    psi_validation: Tensor,
    y_validation: Tensor,
    bins: Tensor,
    options: Clustering,
    seeds: Sequence[int],
    stream: tuple[str, ...],
) -> Environments:
    """One k for B seeds; fields have the leading axis (B,) alone."""
    starts = random_starts(seeds, options.restarts, y.shape[-1], options.clusters, *stream).to(psi)
    ridges = torch.tensor(options.ridge, dtype=psi.dtype, device=psi.device)
    ridges = ridges.repeat_interleave(options.restarts)
    mixtures = fit_mixture(
        psi,
        y,
        starts.repeat(1, len(options.ridge), 1, 1),
        ridge=ridges,
        sigma=options.sigma,
        max_iterations=options.max_iterations,
        tolerance=options.tolerance,
    )
    responsibilities = mixtures.responsibilities(psi.unsqueeze(1), y.unsqueeze(1))
    information = label_information(responsibilities, bins.unsqueeze(1))
    label_split = information > options.max_label_information
    occupied = mixtures.weights >= options.min_share  # (B, R, K)
    empty = occupied.sum(-1) < min(2, options.clusters)
    degenerate = label_split | empty
    held_out = mixtures.log_likelihood(psi_validation.unsqueeze(1), y_validation.unsqueeze(1))
    usable = ~degenerate.all(-1)
    # where every start is degenerate the likeliest one stands in, marked as not usable
    eligible = torch.where(usable.unsqueeze(-1), ~degenerate, True)
    best = held_out.masked_fill(~eligible, -torch.inf).argmax(-1)
    rows = torch.arange(len(best), device=best.device)
    winner = mixtures.select(best)
    kept = (occupied[rows, best] | ~usable.unsqueeze(-1)).to(psi).unsqueeze(-2)  # (B, 1, K)
    return Environments(
        k=torch.full_like(best, psi.shape[-1]),
        train=kept * responsibilities[rows, best],
        validation=kept * winner.responsibilities(psi_validation, y_validation),
        ridge=ridges[best],
        held_out=held_out[rows, best],
        objective=winner.objective,
        label_information=information[rows, best],
        usable=usable,
        n_starts=torch.full_like(best, degenerate.shape[-1]),
        n_label_split=label_split.sum(-1),
        n_empty=empty.sum(-1),
        n_unconverged=(~mixtures.converged).sum(-1),
    )
