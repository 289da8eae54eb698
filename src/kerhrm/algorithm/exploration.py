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

Where the paper leaves a choice, :class:`kerhrm.algorithm.options.Clustering` has both sides of it;
``docs/ambiguities.md`` has the words and what each choice changes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from kerhrm.algorithm.assignment import assign
from kerhrm.algorithm.degeneracy import label_bins, label_information
from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts
from kerhrm.algorithm.options import Clustering, KerHRM
from kerhrm.algorithm.parallel import side_by_side
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.errors import KerhrmError

#: entries of Psi up to which mixtures are fitted side by side: 2 000 x 25 take six sevenths of the
#: time on two cores, 5 000 x 25 fill both as they are
SMALL = 2**16


def learn_environments(
    problem: Problem,
    options: KerHRM,
    t: int,
    last: Directions | None,
    begin: Environments | None = None,
    *,
    earlier: Sequence[Directions] = (),
    inputs: tuple[Tensor, Tensor] | None = None,
) -> Environments:
    """M_c of iteration t = 1, 2, ...

    The first iteration tries every k of ``options``, on Psi as it is; or, if the ``kernel`` is that
    of the inputs, on ``inputs``, training (B, n, d) and validation points (B, m, d).  Later ones
    keep the k that the iteration before has chosen, and take its direction, ``last``, out of Psi,
    after those of all ``earlier`` ones if the ``projection`` says so; nested starts begin with its
    environments, ``begin``.

    Raises
    ------
    KerhrmError
        If k exceeds the columns of Psi, K the number of points, all features or labels
        are zero, or inputs or earlier directions are needed and not given.
    """
    clustering = options.clustering
    every = torch.tensor(options.k, device=problem.y.device).expand(len(problem.y), -1)
    if last is None:
        if (most := problem.s.shape[-1]) < max(options.k):
            raise KerhrmError(f"k={max(options.k)} exceeds the {most} reduced features", "lower k")
        if clustering.kernel == "features":
            return explore(problem, every, clustering, iteration=t)
        if inputs is None:
            raise KerhrmError("kernel 'inputs' needs the points x", "give them, or take 'features'")
        return explore(problem, every, clustering, iteration=t, inputs=inputs)
    k = last.winner.k.unsqueeze(1)
    thetas = [d.winner.theta for d in earlier] if clustering.projection == "all" else []
    if clustering.projection == "all" and len(thetas) != t - 2:
        told = f"projection 'all' needs the directions of all {t - 1} iterations before"
        raise KerhrmError(told, "give them, or take 'newest'")
    start = None
    if clustering.starts == "nested" and begin is not None:
        start = begin.take(torch.arange(len(k), device=k.device), (begin.k == k).int().argmax(1))
    return explore(
        problem,
        k if clustering.later_k == "kept" else every,
        clustering,
        iteration=t,
        thetas=[*thetas, last.winner.theta],
        begin=start,
    )


def explore(
    problem: Problem,
    k: Tensor,
    options: Clustering,
    *,
    iteration: int,
    thetas: Sequence[Tensor] = (),
    begin: Environments | None = None,
    inputs: tuple[Tensor, Tensor] | None = None,
) -> Environments:
    """Learn environments for every seed and candidate dimension.

    Parameters
    ----------
    k : Tensor, (B, G), int64
        Candidate k uses the first k columns of Psi.
    iteration : int
        t = 1, 2, ...; names the random stream of the starts.
    thetas : sequence of Tensor, (B, k_max)
        Psi_V is Psi without these invariant directions, one after the other.
    begin : Environments, (B,), optional
        What nested starts begin with.
    inputs : two Tensors, (B, n, d) and (B, m, d), optional
        Training and validation points that take the place of Psi.
    """
    bins = label_bins(problem.y)
    # a dimension waits for another if starts are nested, and has its clustering if it is of inputs
    alone = inputs is None and options.starts == "random"
    tasks = [
        (b, part)
        for b, dimensions in enumerate(k.tolist())
        for part in ([[one] for one in dimensions] if alone else [dimensions])
    ]

    def explored(task: tuple[int, list[int]]) -> list[Environments]:
        b, dimensions = task
        return list(
            _explore_seed(
                problem,
                b,
                dimensions,
                bins[b],
                options,
                iteration,
                [theta[b] for theta in thetas],
                None if begin is None else begin.take(b),
                None if inputs is None else (inputs[0][b].double(), inputs[1][b].double()),
            )
        )

    small = problem.y.shape[-1] * int(k.max()) <= SMALL and problem.y.device.type == "cpu"
    parts = side_by_side(explored, tasks) if small else [explored(task) for task in tasks]
    found, g = [one for part in parts for one in part], k.shape[1]
    rows = (found[first : first + g] for first in range(0, len(found), g))
    return Environments.stack(Environments.stack(row) for row in rows)


def _explore_seed(
    problem: Problem,
    b: int,
    dimensions: list[int],
    bins: Tensor,
    options: Clustering,
    iteration: int,
    thetas: Sequence[Tensor],
    begin: Environments | None,
    inputs: tuple[Tensor, Tensor] | None,
) -> Iterator[Environments]:
    """Environments of one data set for every k, without a leading axis."""
    seed = problem.seeds[b]
    if options.target == "residual":
        y, y_validation = problem.target[b].double(), problem.target_validation[b].double()
    else:
        y, y_validation = problem.y[b].double(), problem.y_validation[b].double()
    for k in dimensions:
        if inputs is None or begin is None:  # of the inputs, one clustering serves every k
            psi, held_out = inputs or problem.reduced(b, k)
            for theta in thetas:
                psi, held_out = (orthogonal_update(p, theta[:k]) for p in (psi, held_out))
            name = f"t={iteration}", f"k={psi.shape[-1]}"
            if options.intercept:
                psi, held_out = _with_constant(psi, held_out)
            if options.starts == "nested" and begin is not None and bool(begin.usable):
                starts = _whole(begin.train)[None]
            else:
                size = options.restarts, len(psi), options.clusters
                starts = random_starts([seed], *size, *name)[0].to(psi)
            begin = _best_start((psi, y), (held_out, y_validation), starts, bins, options)
        parts = {part: getattr(begin, part) for part in ("train", "validation")}
        whole = {p: assign(r, options.assignment, seed, *name, p) for p, r in parts.items()}
        yield replace(begin, k=torch.full_like(begin.k, k), **whole)


def _with_constant(psi: Tensor, held_out: Tensor) -> tuple[Tensor, Tensor]:
    """Both with a column for the intercept, as large as the mean eigenvalue of Psi^T Psi / n.

    So the unit of the ridge stays what it was, and hardly shrinks an intercept.
    """
    size = float((psi**2).mean()) ** 0.5
    return tuple(torch.cat([p, torch.full_like(p[:, :1], size)], 1) for p in (psi, held_out))  # type: ignore[return-value]


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
        each=options.spread == "each",
        hard=options.e_step == "hard",
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
