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

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.invariance import best_candidate, environment_risks
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.minimisers import minimisers
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.options import AuxiliaryOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.randomness import stream


def cell_environments(
    problem: Problem, cells: Tensor, cells_validation: Tensor, options: AuxiliaryOptions
) -> tuple[Environments, Tensor]:
    """Infer environments that are functions of the cell (M_c), for every candidate k.

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    cells : Tensor, (n,), int64
        Cells 0, ..., C - 1 of the training points.
    cells_validation : Tensor, (m,), int64
        Cells of the validation points.
    options : AuxiliaryOptions
        Of the clustering.

    Returns
    -------
    environments : Environments
        One candidate for each k; ``weights`` are shares of all points.
    memberships : Tensor, (G, C, K)
        Of every cell: those of a new point are the row of its cell.

    Raises
    ------
    KerhrmError
        As :func:`~kerhrm.algorithm.mixture.fit_mixture`.
    """
    candidates: list[Environments] = []
    tables: list[Tensor] = []
    counts, counts_validation = problem.counts
    bins = label_bins(problem.y)
    for k in options.k:
        mixture, n_unconverged = _best_mixture(problem, cells, k, options)
        likeliest = mixture.weights.argmax(-2)
        indicators = one_hot(likeliest, options.n_environments)
        memberships = indicators.to(mixture.weights)
        of_train = memberships[cells]
        train = of_train * counts[:, None]
        of_validation = memberships[cells_validation]
        validation = of_validation * counts_validation[:, None]
        _, psi_validation = problem.reduced(k)
        held_out = mixture.log_likelihood(
            psi_validation,
            problem.target_validation,
            cells=cells_validation,
            point_weights=problem.validation_counts,
        )
        n_left_out = len(problem.s) - k
        zero = torch.zeros_like(n_unconverged)
        candidate = Environments(
            k=torch.full_like(zero, k),
            train=train,
            validation=validation,
            slopes=pad(mixture.theta, (0, n_left_out)),
            intercept=torch.zeros_like(mixture.sigma),
            weights=train.mean(0),
            sigma=mixture.sigma,
            occupied=memberships.sum(0) > 0,
            ridge=held_out.new_tensor(options.clustering_ridge),
            held_out=held_out,
            objective=mixture.objective,
            label_information=label_information(train, bins),
            degenerate=zero.bool(),
            n_starts=torch.full_like(zero, options.n_init),
            n_label_split=zero,
            n_empty=zero,
            n_unconverged=n_unconverged,
        )
        candidates.append(candidate)
        tables.append(memberships)
    return Environments.stack(candidates), torch.stack(tables)


def _best_mixture(
    problem: Problem, cells: Tensor, k: int, options: AuxiliaryOptions
) -> tuple[Mixture, Tensor]:
    """The mixture of the lowest objective, of all starts, in the first k features.

    And how many of them have not converged, an int64 scalar.
    """
    psi, _ = problem.reduced(k)
    n_cells = int(cells.max()) + 1
    starts = _random_memberships(problem.seed, k, n_cells, options)
    starts_of_cells = starts.to(psi)
    mixtures = fit_mixture(
        psi,
        problem.target,
        starts_of_cells[:, cells],
        ridge=options.clustering_ridge,
        cells=cells,
        point_weights=problem.weights,
        em=EM(per_cluster=True),
    )
    best = mixtures.objective.argmin()
    unconverged = ~mixtures.converged
    return mixtures.take(best), unconverged.sum()


def _random_memberships(
    seed: int, k: int, n_cells: int, options: AuxiliaryOptions
) -> Tensor:
    """Memberships (R, C, K) of every cell at the start of EM, float64."""
    random = stream(seed, "auxiliary", f"k={k}")
    concentration = [0.5] * options.n_environments
    shape = (options.n_init, n_cells)
    draw = random.dirichlet(concentration, shape)
    return torch.from_numpy(draw)


def cell_directions(
    problem: Problem, train: Tensor, validation: Tensor, options: AuxiliaryOptions
) -> Directions:
    """Learn the invariant direction of every candidate (k, alpha), and choose one
    (M_p).

    Parameters
    ----------
    problem : Problem
        Reduced features and labels.
    train : Tensor, (G, n, K)
        Memberships of the training points for each k of the options: those of
        :func:`cell_environments`, or a single one, which makes this ERM.
    validation : Tensor, (G, m, K)
        Memberships of the validation points.
    options : AuxiliaryOptions
        Of M_p.

    Returns
    -------
    Directions
        Scores are minus the extrapolated risk; ties go to the k, then the alpha, that
        stands first in the options.

    Raises
    ------
    KerhrmError
        As :func:`~kerhrm.algorithm.minimisers.minimisers`.
    SingularError
        If the system of a direction is singular.
    """
    random = stream(problem.seed, "auxiliary", "folds")
    n_points = len(problem.y)
    order = random.permutation(n_points)
    numbers = torch.from_numpy(order % options.folds)
    fold = numbers.to(problem.u.device)
    thetas: list[Tensor] = []
    scores: list[Tensor] = []
    for k, of_train, of_validation in zip(options.k, train, validation, strict=True):
        psi, psi_validation = problem.reduced(k)
        n_alphas = len(options.alpha)
        residuals = problem.target.repeat(n_alphas, 1)
        for number in range(options.folds):
            held_out = fold == number
            kept = ~held_out
            theta = _thetas(problem, psi, of_train, kept, options)
            outputs = theta @ psi[held_out].mT
            residuals[:, held_out] -= outputs
        everyone = torch.ones_like(fold, dtype=torch.bool)
        theta = _thetas(problem, psi, of_train, everyone, options)
        outputs_validation = theta @ psi_validation.mT
        residuals_validation = problem.target_validation - outputs_validation
        all_residuals = torch.cat([residuals, residuals_validation], -1)
        losses = all_residuals**2
        memberships = torch.cat([of_train, of_validation])
        risk = extrapolated_risk(losses, memberships, options.extrapolation)
        scores.append(-risk)
        n_left_out = len(problem.s) - k
        slopes = pad(theta, (0, n_left_out))
        thetas.append(slopes)
    score = torch.cat(scores)
    dimensions = torch.tensor(options.k, device=score.device)
    return Directions(
        theta=torch.cat(thetas),
        k=dimensions.repeat_interleave(len(options.alpha)),
        alpha=score.new_tensor(options.alpha).repeat(len(options.k)),
        score=score,
        chosen=best_candidate(score),
    )


def _thetas(
    problem: Problem,
    psi: Tensor,
    memberships: Tensor,
    rows: Tensor,
    options: AuxiliaryOptions,
) -> Tensor:
    """Minimisers (A, k), one for each alpha, by some rows of psi (n, k)."""
    risks = environment_risks(
        psi[rows], problem.target[rows], memberships[rows], ridge=options.ridge
    )
    # the unit is that of all points, so that alpha means the same in each fold
    return minimisers(options.penalty, psi, risks, options.alpha)


def extrapolated_risk(
    losses: Tensor, memberships: Tensor, extrapolation: float
) -> Tensor:
    """max_j R^j + extrapolation (max_j R^j - min_j R^j) over occupied environments.

    Of losses (..., m) and memberships (m, K): (...).
    """
    weight = memberships.sum(0)
    occupied = weight > 1e-9
    sums = losses @ memberships[:, occupied]
    risks = sums / weight[occupied]
    worst = risks.amax(-1)
    best = risks.amin(-1)
    gap = worst - best
    return worst + extrapolation * gap
