"""One clustering (M_c): mixtures of the variant features, and the best of them.

Which mixtures are degenerate, and why, is in :mod:`kerhrm.algorithm.environments`.
"""

from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.labels import label_bins, label_information
from kerhrm.algorithm.mixture import Mixture
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Environments
from kerhrm.algorithm.starts import Points, fit_starts
from kerhrm.algorithm.variant import Variant
from kerhrm.randomness import stream


def assign(
    responsibilities: Tensor,
    how: Literal["soft", "drawn", "hard"],
    seed: int,
    *name: str,
) -> Tensor:
    """Memberships that M_p gets of responsibilities.

    A point without any responsibility belongs nowhere.

    Parameters
    ----------
    responsibilities : Tensor, (m, K)
        P(environment j | point i), 0 in dropped environments.
    how : "soft", "drawn" or "hard"
        "soft": the responsibilities, as weights; "hard": 1 for the largest one, the
        first among equals; "drawn": 1 for environment j with probability r_ij, as the
        paper's words can be read ("we assign i-th point to j-th cluster with
        probability P_ij").
    seed : int
        Of the draw.
    *name : str
        The draw is from the stream ``clustering``, ``name``, "assignment".

    Returns
    -------
    Tensor, (m, K)
        Memberships.
    """
    if how == "soft":
        return responsibilities
    m, nowhere = responsibilities.shape
    if how == "hard":
        environment = responsibilities.argmax(-1)
    else:
        random = stream(seed, "clustering", *name, "assignment")
        uniform = random.random(m)
        numbers = torch.from_numpy(uniform)
        draw = numbers.to(responsibilities)
        cumulative = responsibilities.cumsum(-1)
        below = cumulative <= draw[:, None]
        environment = below.sum(-1)
    indicators = one_hot(environment, nowhere + 1)
    members = indicators[:, :-1]
    possible = responsibilities > 0
    weights = members.to(responsibilities)
    return weights * possible


@dataclass(frozen=True)
class _Degeneracy:
    """Which of R mixtures are degenerate, and why.

    Attributes
    ----------
    information : Tensor, (R,)
        Normalised mutual information with the label.
    occupied : Tensor, (R, K), bool
        Environments that hold points enough.
    label_split, empty : Tensor, (R,), bool
        Mixtures that repeat the label; that have fewer than two environments.
    """

    information: Tensor
    occupied: Tensor
    label_split: Tensor
    empty: Tensor

    @classmethod
    def measure(
        cls,
        mixtures: Mixture,
        responsibilities: Tensor,
        y: Tensor,
        options: KerHRMOptions,
    ) -> Self:
        """Compare mixtures with labels (n,).

        Responsibilities (R, n, K) are times the points' weights.
        """
        information = label_information(responsibilities, label_bins(y))
        occupied = mixtures.weights >= options.min_share
        least = min(2, options.n_environments)
        return cls(
            information=information,
            occupied=occupied,
            label_split=information > options.max_label_information,
            empty=occupied.sum(-1) < least,
        )

    @property
    def degenerate(self) -> Tensor:
        """Mixtures that are degenerate for either reason, (R,), bool."""
        return self.label_split | self.empty


@dataclass(frozen=True)
class _Clustered:
    """Training and validation points as they are clustered.

    Attributes
    ----------
    psi, psi_validation : Tensor, (n, k), (m, k)
        Variant features, with a constant column where the regressions have an
        intercept.
    y, y_validation : Tensor, (n,), (m,)
        What the regressions explain.
    constant : float
        In that column; 0 where there is none.
    """

    psi: Tensor
    psi_validation: Tensor
    y: Tensor
    y_validation: Tensor
    constant: float


def infer_environments(
    problem: Problem,
    options: KerHRMOptions,
    variant: Variant,
    before: Environments | None,
) -> Environments:
    """Fit mixtures to the variant features; the best non-degenerate one.

    Nested initialisations are the environments ``before``, unless these are degenerate.
    """
    clustered = _clustered_features(problem, options, variant)
    on_validation = clustered.psi_validation, clustered.y_validation
    first = None
    if options.init == "nested" and before is not None and not bool(before.degenerate):
        first = before.train
    mixtures, ridges = fit_starts(
        Points(clustered.psi, clustered.y, problem.weights),
        options,
        _em_settings(options),
        first=first,
        seed=problem.seed,
        name=variant.stream,
    )
    counts, counts_validation = problem.counts
    of_starts = mixtures.responsibilities(clustered.psi, clustered.y)
    weighted = of_starts * counts[:, None]
    degeneracy = _Degeneracy.measure(mixtures, weighted, problem.y, options)
    held_out = mixtures.log_likelihood(
        *on_validation, point_weights=problem.validation_counts
    )
    best = _best_start(held_out, degeneracy.degenerate)
    mixture = mixtures.take(best)
    all_degenerate = degeneracy.degenerate.all()
    occupied = degeneracy.occupied[best] | all_degenerate
    train = occupied * of_starts[best]
    validation = occupied * mixture.responsibilities(*on_validation)
    seed_and_name = problem.seed, *variant.stream
    slopes = variant.project_slopes(mixture.theta[:, : variant.k])
    n_left_out = max(0, len(problem.s) - variant.k)
    unconverged = ~mixtures.converged
    return Environments(
        k=torch.full_like(best, variant.k),
        train=_weighted_memberships(train, counts, options, *seed_and_name, "train"),
        validation=_weighted_memberships(
            validation, counts_validation, options, *seed_and_name, "validation"
        ),
        slopes=pad(slopes, (0, n_left_out)),
        intercept=clustered.constant * mixture.theta[:, -1],
        weights=mixture.weights,
        sigma=mixture.sigma,
        occupied=occupied,
        ridge=ridges[best],
        held_out=held_out[best],
        objective=mixture.objective,
        label_information=degeneracy.information[best],
        degenerate=all_degenerate,
        n_starts=torch.full_like(best, len(held_out)),
        n_label_split=degeneracy.label_split.sum(),
        n_empty=degeneracy.empty.sum(),
        n_unconverged=unconverged.sum(),
    )


def _clustered_features(
    problem: Problem, options: KerHRMOptions, variant: Variant
) -> _Clustered:
    """Variant features of the points, and labels or residuals, by the options."""
    psi = variant.project(variant.psi)
    psi_validation = variant.project(variant.psi_validation)
    constant = 0.0
    if options.clustering_intercept:
        mean_square = float((psi**2).mean())
        constant = mean_square**0.5  # keeps the unit of the ridge
        psi = pad(psi, (0, 1), value=constant)
        psi_validation = pad(psi_validation, (0, 1), value=constant)
    y = problem.target
    y_validation = problem.target_validation
    if options.clustering_target == "label":
        y = problem.y.double()
        y_validation = problem.y_validation.double()
    return _Clustered(psi, psi_validation, y, y_validation, constant)


def _em_settings(options: KerHRMOptions) -> EM:
    return EM(
        noise_sd=options.noise_sd,
        per_cluster=options.noise_variance == "per_cluster",
        hard=options.e_step == "hard",
        max_iter=options.em_max_iter,
        tol=options.em_tol,
    )


def _best_start(held_out: Tensor, degenerate: Tensor) -> Tensor:
    """Number of the mixture that is likeliest by held-out points, (R,), among those
    that are not degenerate.

    Where every start is degenerate the likeliest one stays, marked as degenerate.
    """
    set_aside = degenerate & ~degenerate.all()
    eligible = held_out.masked_fill(set_aside, -torch.inf)
    return eligible.argmax()


def _weighted_memberships(
    responsibilities: Tensor,
    counts: Tensor,
    options: KerHRMOptions,
    seed: int,
    *name: str,
) -> Tensor:
    """Memberships (m, K) by :func:`assign`, times the points' weights (m,)."""
    assigned = assign(responsibilities, options.assignment, seed, *name)
    return assigned * counts[:, None]
