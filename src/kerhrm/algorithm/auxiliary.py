r"""Environments that are functions of an auxiliary variable Z, and directions invariant
over them.

Z (a time, a place, a category) is no feature.  It is cut into cells c(z)
(:mod:`kerhrm.algorithm.cells`), and the mixture of regressions
(:mod:`kerhrm.algorithm.mixture`) gives a whole cell to one environment.  Were the
cells' points free, environments would repeat the label as soon as there are features
enough.

M_p minimises the pooled risk with a penalty alpha (:mod:`kerhrm.algorithm.invariance`).
Among all (k, alpha) the one with the least extrapolated risk is chosen (risk
extrapolation: Krueger et al., ICML 2021),

.. math:: \max_j R^j + \lambda \, (\max_j R^j - \min_j R^j),

with R^j the mean squared error of environment j over the validation points and, out of
fold, the training points.
"""

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from kerhrm.algorithm.environments import label_bins, label_information
from kerhrm.algorithm.invariance import environment_risks
from kerhrm.algorithm.mixture import fit_mixture
from kerhrm.algorithm.options import AuxiliaryOptions
from kerhrm.algorithm.penalties import minimisers
from kerhrm.algorithm.records import Directions, Environments, Problem
from kerhrm.randomness import stream


def cell_environments(
    problem: Problem, cells: Tensor, cells_validation: Tensor, options: AuxiliaryOptions
) -> tuple[Environments, Tensor]:
    """Infer environments that are functions of the cell (M_c), for every candidate k.

    Of cells (n,), (m,), int64, of the training and validation points: 0, ..., C - 1.

    Raises KerhrmError as :func:`~kerhrm.algorithm.mixture.fit_mixture`.

    Returns
    -------
    environments : Environments
        One candidate for each k; ``weights`` are shares of all points.
    memberships : Tensor, (G, C, K)
        Of every cell: those of a new point are the row of its cell.
    """
    found: list[Environments] = []
    tables: list[Tensor] = []
    for k in options.k:
        psi, psi_validation = problem.reduced(k)
        size = options.n_init, int(cells.max()) + 1, options.n_environments
        draw = stream(problem.seed, "auxiliary", f"k={k}").dirichlet(
            [0.5] * size[-1], size[:2]
        )
        mixtures = fit_mixture(
            psi,
            problem.target,
            torch.from_numpy(draw).to(psi)[:, cells],
            ridge=options.clustering_ridge,
            cells=cells,
            point_weights=problem.weights,
            per_cluster=True,
        )
        best = mixtures.objective.argmin()
        one = mixtures.take(best)
        table = one_hot(one.weights.argmax(-2), options.n_environments).to(psi)
        points = psi_validation, problem.target_validation, cells_validation
        held_out = one.log_likelihood(*points, problem.counts[1])
        train = table[cells] * problem.counts[0][:, None]
        zero = torch.zeros_like(best)
        found.append(
            Environments(
                k=torch.full_like(best, k),
                train=train,
                validation=table[cells_validation] * problem.counts[1][:, None],
                slopes=pad(one.theta, (0, len(problem.s) - k)),
                intercept=torch.zeros_like(one.sigma),
                weights=train.mean(0),
                sigma=one.sigma,
                occupied=table.sum(0) > 0,
                ridge=psi.new_tensor(options.clustering_ridge),
                held_out=held_out,
                objective=one.objective,
                label_information=label_information(train, label_bins(problem.y)),
                degenerate=zero.bool(),
                n_starts=torch.full_like(best, options.n_init),
                n_label_split=zero,
                n_empty=zero,
                n_unconverged=(~mixtures.converged).sum(),
            )
        )
        tables.append(table)
    return Environments.stack(found), torch.stack(tables)


def cell_directions(
    problem: Problem, train: Tensor, validation: Tensor, options: AuxiliaryOptions
) -> Directions:
    """Learn the invariant direction of every candidate (k, alpha), and choose one
    (M_p).

    Of the environments (G, n, K) of the training points and (G, m, K) of the validation
    points, for each k of the options: those of :func:`cell_environments`, or a single
    one, which makes this ERM.  Scores are minus the extrapolated risk; ties go to the
    smaller k, then alpha.
    """
    order = stream(problem.seed, "auxiliary", "folds").permutation(len(problem.y))
    fold = torch.from_numpy(order % options.folds).to(problem.u.device)
    thetas: list[Tensor] = []
    scores: list[Tensor] = []
    for k, memberships, held_out in zip(options.k, train, validation, strict=True):
        psi, psi_validation = problem.reduced(k)
        # without one of the folds, then of all points
        found = []
        for number in range(options.folds + 1):
            rows = fold != number
            risks = environment_risks(
                psi[rows], problem.target[rows], memberships[rows], ridge=options.ridge
            )
            found.append(minimisers(options.penalty, psi, risks, options.alpha))
        *without, theta = found  # (A, k) each
        residuals = problem.target.repeat(len(options.alpha), 1)
        for number, other in enumerate(without):
            residuals[:, fold == number] -= other @ psi[fold == number].mT
        beyond = problem.target_validation - theta @ psi_validation.mT
        losses, parts = (
            torch.cat([residuals, beyond], -1) ** 2,
            torch.cat([memberships, held_out]),
        )
        scores.append(-extrapolated_risk(losses, parts, options.extrapolation))
        thetas.append(pad(theta, (0, len(problem.s) - k)))
    every = torch.cat(scores)
    return Directions(
        theta=torch.cat(thetas),
        k=torch.tensor(options.k, device=every.device).repeat_interleave(
            len(options.alpha)
        ),
        alpha=every.new_tensor(options.alpha).repeat(len(options.k)),
        score=every,
        chosen=int(every.argmax()),
    )


def extrapolated_risk(
    losses: Tensor, memberships: Tensor, extrapolation: float
) -> Tensor:
    """max_j R^j + extrapolation (max_j R^j - min_j R^j) over occupied environments.

    Of losses (..., m) and memberships (m, K): (...).
    """
    weight = memberships.sum(0)
    r = memberships[:, weight > 1e-9]
    risks = losses @ r / weight[weight > 1e-9]
    worst = risks.amax(-1)
    return worst + extrapolation * (worst - risks.amin(-1))
