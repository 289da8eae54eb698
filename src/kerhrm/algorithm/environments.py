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
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import one_hot, pad

from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts
from kerhrm.algorithm.options import KerHRMOptions
from kerhrm.algorithm.records import Directions, Environments, Problem
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream


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
    those of all iterations before) out of Psi.

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
        labels are zero, or inputs are needed and not given.
    """
    if len(environments) != t - 1 or len(directions) != t - 1:
        text = (
            f"iteration {t} needs the environments and directions of all {t - 1} before"
        )
        raise KerhrmError(text, f"pass those of iterations 1 to {t - 1}, in order")
    if t > 1:
        ends = [d.winner(i) for i, d in enumerate(directions, start=1)]
        thetas = [
            end.theta for end in (ends if options.projection == "all" else ends[-1:])
        ]
        before = environments[-1].candidate(ends[-1].k)
        one = _infer(problem, options, t, *problem.reduced(ends[-1].k), thetas, before)
        return Environments.stack([one])
    if (k_max := len(problem.s)) < max(options.k):
        raise KerhrmError(
            f"k={max(options.k)} exceeds the {k_max} reduced features", "lower k"
        )
    if options.first_kernel == "inputs":  # one clustering serves every k
        if inputs is None:
            text = "first_kernel='inputs' needs the points x"
            raise KerhrmError(text, "pass inputs=(x, x_validation)")
        x, x_validation = (part.double() for part in inputs)
        one = _infer(problem, options, t, x, x_validation, [], None)
        one = replace(one, slopes=one.slopes[:, : x.shape[-1]])
        return Environments.stack(
            [replace(one, k=torch.full_like(one.k, k)) for k in options.k]
        )
    candidates: list[Environments] = []
    for k in options.k:
        smaller = candidates[-1] if candidates else None
        candidates.append(_infer(problem, options, t, *problem.reduced(k), [], smaller))
    return Environments.stack(candidates)


def choose_n_environments(
    problem: Problem, options: KerHRMOptions, largest: int = 5
) -> int:
    """Number of environments, 1 to ``largest``, by the held-out likelihood of first
    clusterings.

    The smallest number that falls short of the likeliest by no more than one standard
    error of their difference (Breiman et al. 1984).  Every number has its best k;
    degenerate clusterings do not count.
    """
    target = problem.target_validation
    if options.clustering_target == "label":
        target = problem.y_validation.double()
    found = []
    for n in range(1, largest + 1):
        update = {"n_environments": n, "first_kernel": "features"}
        one = learn_environments(problem, options.model_copy(update=update), 1, [], [])
        best = int(one.held_out.masked_fill(one.degenerate, -torch.inf).argmax())
        means = problem.psi_validation @ one.slopes[best].mT
        found.append(one.log_likelihoods(int(one.k[best]), means, target))
        if bool(one.degenerate[best]):
            found[-1] = torch.full_like(target, -torch.inf)
    likelihoods = torch.stack(found)
    short = likelihoods[likelihoods.mean(1).argmax()] - likelihoods
    near = short.mean(1) <= short.std(1) / len(target) ** 0.5
    return 1 + int(near.to(torch.int8).argmax())


def label_bins(y: Tensor, n_bins: int = 10) -> Tensor:
    """Labels (n,) as int64: their values if there are few, else their quantile bins."""
    values = torch.unique(y)
    if len(values) <= n_bins:
        return torch.searchsorted(values, y.contiguous())
    ranks = torch.searchsorted(y.sort().values, y.contiguous())  # ties share a rank
    return ranks * n_bins // len(y)


def label_information(responsibilities: Tensor, bins: Tensor) -> Tensor:
    """Normalised mutual information of environment and label, I(E; Y) / min(H(E),
    H(Y)).

    The joint distribution is P(e, b) = (1/n) sum_i r_ie [bin of y_i = b].

    Parameters
    ----------
    responsibilities : Tensor, (..., n, K)
        Soft environments.
    bins : Tensor, (n,), int64
        From :func:`label_bins`.

    Returns
    -------
    Tensor, (...)
        In [0, 1]: 1 for environment = label, 0 for independence and where all points
        share one environment or one bin.
    """
    indicators = one_hot(bins, int(bins.max()) + 1).to(responsibilities)
    # (..., K, bins)
    joint = responsibilities.mT @ indicators / responsibilities.shape[-2]
    h_environment, h_label = _entropy(joint.sum(-1)), _entropy(joint.sum(-2))
    information = h_environment + h_label - _entropy(joint.flatten(-2))
    smaller = torch.minimum(h_environment, h_label)
    return torch.where(
        smaller > 1e-9, information / smaller.clamp_min(1e-9), 0.0
    ).clamp(0, 1)


def assign(
    responsibilities: Tensor,
    how: Literal["soft", "drawn", "hard"],
    seed: int,
    *name: str,
) -> Tensor:
    """Memberships (m, K) that M_p gets of responsibilities (m, K).

    "soft": the responsibilities, as weights; "hard": 1 for the largest one, the first
    among equals; "drawn": 1 for environment j with probability r_ij, as the paper's
    words can be read ("we assign i-th point to j-th cluster with probability P_ij"),
    from the stream ``clustering``, ``name``, "assignment" of ``seed``.  A point without
    any responsibility belongs nowhere.
    """
    r = responsibilities
    if how == "soft":
        return r
    if how == "hard":
        chosen = r.argmax(-1)
    else:
        draw = stream(seed, "clustering", *name, "assignment").random(len(r))
        # K: nowhere
        chosen = (r.cumsum(-1) <= torch.from_numpy(draw).to(r)[:, None]).sum(-1)
    return one_hot(chosen, r.shape[-1] + 1)[:, :-1].to(r) * (r > 0)


def _infer(
    problem: Problem,
    options: KerHRMOptions,
    t: int,
    psi: Tensor,
    psi_validation: Tensor,
    thetas: Sequence[Tensor],
    before: Environments | None,
) -> Environments:
    """Fit mixtures of points psi (n, k), (m, k) less directions; the best
    non-degenerate one.

    Nested initialisations are the environments ``before``, unless these are degenerate.
    """
    k = psi.shape[-1]
    for theta in thetas:
        psi, psi_validation = (
            orthogonal_update(p, theta[:k]) for p in (psi, psi_validation)
        )
    constant = 0.0
    if options.clustering_intercept:
        constant = float((psi**2).mean()) ** 0.5  # keeps the unit of the ridge
        psi, psi_validation = (
            pad(p, (0, 1), value=constant) for p in (psi, psi_validation)
        )
    if options.clustering_target == "residual":
        y, y_validation = problem.target, problem.target_validation
    else:
        y, y_validation = problem.y.double(), problem.y_validation.double()
    name = f"t={t}", f"k={k}"
    if options.init == "nested" and before is not None and not bool(before.degenerate):
        starts = _normalised(before.train)[None]
    else:
        size = options.n_init, len(psi), options.n_environments
        starts = random_starts(problem.seed, *size, *name).to(psi)
    ridges = psi.new_tensor(options.clustering_ridge).repeat_interleave(len(starts))
    mixtures = fit_mixture(
        psi,
        y,
        starts.repeat(len(options.clustering_ridge), 1, 1),
        ridge=ridges,
        point_weights=problem.weights,
        noise_sd=options.noise_sd,
        per_cluster=options.noise_variance == "per_cluster",
        hard=options.e_step == "hard",
        max_iter=options.em_max_iter,
        tol=options.em_tol,
    )
    counts = problem.counts
    responsibilities = mixtures.responsibilities(psi, y)
    information = label_information(responsibilities, label_bins(problem.y))
    label_split = information > options.max_label_information
    occupied = mixtures.weights >= options.min_share  # (R, K)
    empty = occupied.sum(-1) < min(2, options.n_environments)
    degenerate = label_split | empty
    held_out = mixtures.log_likelihood(psi_validation, y_validation, None, counts[1])
    # where every start is degenerate, the likeliest one stays, marked as degenerate
    all_degenerate = degenerate.all()
    best = held_out.masked_fill(degenerate & ~all_degenerate, -torch.inf).argmax()
    winner, occupied = mixtures.take(best), occupied[best] | all_degenerate
    slopes = winner.theta[:, :k]
    for theta in reversed(thetas):
        slopes = orthogonal_update(slopes, theta[:k])
    memberships = (
        assign(occupied * r, options.assignment, problem.seed, *name, part)
        * count[:, None]
        for part, r, count in (
            ("train", responsibilities[best], counts[0]),
            (
                "validation",
                winner.responsibilities(psi_validation, y_validation),
                counts[1],
            ),
        )
    )
    train, validation = memberships
    return Environments(
        k=torch.full_like(best, k),
        train=train,
        validation=validation,
        slopes=pad(slopes, (0, max(0, len(problem.s) - k))),
        intercept=constant * winner.theta[:, -1],
        weights=winner.weights,
        sigma=winner.sigma,
        occupied=occupied,
        ridge=ridges[best],
        held_out=held_out[best],
        objective=winner.objective,
        label_information=information[best],
        degenerate=all_degenerate,
        n_starts=torch.full_like(best, len(degenerate)),
        n_label_split=label_split.sum(),
        n_empty=empty.sum(),
        n_unconverged=(~mixtures.converged).sum(),
    )


def _normalised(responsibilities: Tensor) -> Tensor:
    """Responsibilities (n, K) that add up to one again, without dropped
    environments."""
    total = responsibilities.sum(-1, keepdim=True)
    equal = torch.full_like(responsibilities, 1 / responsibilities.shape[-1])
    return torch.where(total > 0, responsibilities / total, equal)


def _entropy(p: Tensor) -> Tensor:
    """Entropy in nats along the last axis."""
    return -torch.special.xlogy(p, p).sum(-1)
