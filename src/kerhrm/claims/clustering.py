"""Statements about M_c and its turns with M_p, checked by small runs on the classification data.

How well environments bring out what varies is told by the divergence of P(Y | A) between them, A
being the spurious attribute (:func:`kerhrm.scoring.iterations.divergence`).
"""

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.mixture import fit_mixture, orthogonal_update, random_starts
from kerhrm.claims.cells import FIGURE2, iterations_of
from kerhrm.claims.claim import Claim, effect
from kerhrm.claims.evidence import NTF, Case, Finding, paired
from kerhrm.claims.labs import RIDGE, Lab
from kerhrm.claims.parts import all_of, correlation, more
from kerhrm.claims.theory import agreement, shared_information
from kerhrm.randomness import stream
from kerhrm.scoring.iterations import divergence, of_winner, winner

CORRUPTED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  #: shares of points that are in a wrong environment
TURNED = (0.0, 0.25, 0.5, 0.75, 1.0)  #: from an invariant direction to that of ERM
DISTANCES = (0.25, 0.5, 1.0, 2.0)  #: of two centres, in deviations of psi^T c
NOISE = 0.5
SIGMAS = (2.0, 1.0, 0.5, 0.25)
MOST_CLUSTERS = 6
APART = 0.01  #: mean square of two centres' difference, above which they are two
HIGH = 0.5  #: a high correlation
ALPHA = 1.0


def heterogeneity(lab: Lab, memberships: Tensor) -> np.ndarray:
    """Divergence of P(Y | A) between environments (B, n, K): (B,), nats."""
    a = (lab.attribute > 0).long().numpy()
    return divergence(memberships.numpy(), lab.problem.y.numpy(), a)


def iterations_promote(case: Case) -> Finding:
    lab, turns = case.labs.classification, case.labs.iterations
    found = []
    for environments, directions in (turns[0], turns[-1]):
        arrays = environments.to_arrays(), directions.to_arrays()
        memberships = torch.from_numpy(of_winner(*arrays))
        theta = torch.from_numpy(winner(arrays[1], "theta"))
        found.append((heterogeneity(lab, memberships), lab.test_accuracy(theta)))
    (first_d, first_acc), (last_d, last_acc) = found
    parts = [
        more("divergence of the environments, last iteration less first", last_d, first_d),
        more("test accuracy, last iteration less first", last_acc, first_acc),
    ]
    note = (
        f"{len(turns)} iterations, r2 = .80: divergence {first_d.mean():.2f} and "
        f"{last_d.mean():.2f}, accuracy {first_acc.mean():.3f} and {last_acc.mean():.3f}"
    )
    return Finding(all_of(parts), note)


def invariant_inference_sees_nothing(case: Case) -> Finding:
    """M_c on the invariant part of Psi alone, and on what is left of it."""
    lab, size = case.labs.classification, case.labs.size
    theta = lab.direction(lab.perfect, ALPHA)
    psi = lab.problem.psi_train
    unit = theta / theta.norm(dim=-1, keepdim=True)
    invariant = psi @ unit.unsqueeze(-1)
    by_variant, by_invariant = (
        heterogeneity(lab, lab.explore(p, size)) for p in (orthogonal_update(psi, theta), invariant)
    )
    name = "divergence of environments, learned from Psi_V less from psi^T theta_inv"
    note = f"{by_variant.mean():.2f} and {by_invariant.mean():.2f} nats"
    return Finding(more(name, by_variant, by_invariant), note)


def corrupted(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Divergence of environments ever more corrupted, and accuracy of theta_inv: (B, m) each."""
    lab = case.labs.classification
    draws = torch.stack(
        [
            torch.from_numpy(stream(seed, "claims", "corruption").random(lab.problem.y.shape[1]))
            for seed in lab.seeds
        ]
    ).unsqueeze(-1)
    distances, accuracies = [], []
    for share in CORRUPTED:
        memberships = torch.where(draws < share, 1 - lab.perfect, lab.perfect)
        distances.append(heterogeneity(lab, memberships))
        accuracies.append(lab.test_accuracy(lab.direction(memberships, ALPHA)))
    return np.stack(distances, 1), np.stack(accuracies, 1)


def better_environments_help(case: Case) -> Finding:
    _, accuracies = corrupted(case)
    right = np.broadcast_to(-np.array(CORRUPTED), accuracies.shape)
    name = "rank correlation of test accuracy with the share of points in their environment"
    note = f"accuracy over shares of wrong points {_told(CORRUPTED, accuracies)}"
    return Finding(more(name, correlation(right, accuracies)), note)


def heterogeneity_tells_accuracy(case: Case) -> Finding:
    distances, accuracies = corrupted(case)
    name = f"rank correlation of divergence and test accuracy (above {HIGH}: high)"
    note = f"environments corrupted step by step; divergence {_told(CORRUPTED, distances)}"
    if steps := iterations_of(case):
        seen = [
            np.stack(paired(*(case.scores.of(FIGURE2, s, NTF, metric) for s in steps)), axis=1)
            for metric in ("d_kl", "test_acc")
        ]
        by_iteration = more("", correlation(seen[0], seen[1]))
        note = f"{note}; over the iterations of Figure 2 {effect(by_iteration)}"
    return Finding(more(name, correlation(distances, accuracies), by=HIGH), note)


def variant_part_is_better_captured(case: Case) -> Finding:
    """How much more of A than of sum S a linear fit finds, in Psi_V and in Psi."""
    lab = case.labs.classification
    psi = lab.problem.psi_train
    s = lab.sources[..., : lab.sources.shape[-1] // 2].sum(-1)
    told, contrasts = [], []
    for features in (orthogonal_update(psi, lab.direction(lab.perfect, ALPHA)), psi):
        of_a, of_s = (explained(features, target) for target in (lab.attribute, s))
        contrasts.append(of_a - of_s)
        told.append(f"{of_a.mean():.3f} of A and {of_s.mean():.3f} of S")
    name = "R2 of A less R2 of sum S, by Psi_V less by Psi"
    return Finding(more(name, *contrasts), f"Psi_V explains {told[0]}, Psi {told[1]}")


def explained(features: Tensor, target: Tensor) -> np.ndarray:
    """R2 of least squares with a constant: (B, n, k), (B, n) to (B,)."""
    target = (target - target.mean(-1, keepdim=True)).unsqueeze(-1)
    features = features - features.mean(1, keepdim=True)
    fit = features @ (torch.linalg.pinv(features, rtol=1e-8) @ target)
    return (1 - ((target - fit) ** 2).sum((1, 2)) / (target**2).sum((1, 2))).numpy()


def better_direction_better_variant_part(case: Case) -> Finding:
    """theta turned from invariant to ERM's: divergence of the environments learned without it."""
    lab, size = case.labs.classification, case.labs.size
    psi = lab.problem.psi_train
    invariant, erm = (
        theta / theta.norm(dim=-1, keepdim=True)
        for theta in (
            lab.direction(lab.perfect, ALPHA),
            lab.direction(torch.ones_like(lab.perfect[..., :1]), 0.0),
        )
    )
    found = []
    for turn in TURNED:
        theta = (1 - turn) * invariant + turn * erm
        found.append(heterogeneity(lab, lab.explore(orthogonal_update(psi, theta), size)))
    distances = np.stack(found, 1)
    near = np.broadcast_to(-np.array(TURNED), distances.shape)
    name = "rank correlation of divergence with how invariant theta is"
    note = f"divergence from theta_inv to ERM's theta {_told(TURNED, distances)}"
    return Finding(more(name, correlation(near, distances)), note)


def distant_centres_are_clearer(case: Case) -> Finding:
    """I(I;J) and right points over the distance of two centres; number of centres over beta."""
    lab, size = case.labs.classification, case.labs.size
    psi = lab.problem.psi_train
    shared, right, centres, by_beta = [], [], [], []
    draws = [stream(seed, "claims", "centres") for seed in lab.seeds]
    c = torch.stack([torch.from_numpy(r.standard_normal(psi.shape[-1])) for r in draws])
    signal = (psi @ c.unsqueeze(-1)).squeeze(-1)
    signal = signal / signal.std(-1, keepdim=True)
    n = signal.shape[-1]
    first = torch.stack([torch.from_numpy(r.random(n)) for r in draws]) < 0.5
    noise = NOISE * torch.stack([torch.from_numpy(r.standard_normal(n)) for r in draws])
    rows = torch.arange(len(draws))
    for distance in DISTANCES:
        y = torch.where(first, 1, -1) * signal * distance / 2 + noise
        fits = lab.fit(psi, y, size)
        best = fits.take(rows, fits.objective.argmin(1))
        r = best.responsibilities(psi, y)
        shared.append(shared_information(r).numpy())
        right.append(agreement(r, first).numpy())
    for sigma in SIGMAS:
        fits = lab.fit(psi, lab.problem.target, size, MOST_CLUSTERS, sigma=sigma)
        best = fits.take(rows, fits.objective.argmin(1))
        outputs = psi @ best.theta.mT
        centres.append(n_apart(outputs))
        r = best.responsibilities(psi, lab.problem.target)
        by_beta.append(shared_information(r).numpy())
    parts = []
    for name, values, order in (
        ("I(I;J) with the distance of centres", shared, DISTANCES),
        ("right points with the distance of centres", right, DISTANCES),
        ("number of distinct centres with beta", centres, [-s for s in SIGMAS]),
        ("I(I;J) with beta", by_beta, [-s for s in SIGMAS]),
    ):
        stacked = np.stack(values, 1)
        ranks = correlation(np.broadcast_to(order, stacked.shape), stacked)
        parts.append(more(f"rank correlation of {name}", ranks))
    note = (
        f"I(I;J) by distance {_told(DISTANCES, np.stack(shared, 1))}; distinct centres of "
        f"{MOST_CLUSTERS} by sigma {_told(SIGMAS, np.stack(centres, 1))}"
    )
    return Finding(all_of(parts), note)


def n_apart(outputs: Tensor) -> np.ndarray:
    """Number of centres, by their outputs (B, n, K), that differ from all before them: (B,)."""
    squares = ((outputs.unsqueeze(-1) - outputs.unsqueeze(-2)) ** 2).mean(1)  # (B, K, K)
    repeats = (squares < APART).tril(-1).any(-1)
    return (~repeats).sum(-1).double().numpy()


def many_clusters_converge_slowly(case: Case) -> Finding:
    """Steps of EM over K, where two are right."""
    lab, size = case.labs.classification, case.labs.size
    psi, y = lab.problem.psi_train, lab.problem.target
    steps = {}
    for k in (2, 3, 4, 5):
        starts = random_starts(lab.seeds, size.restarts, psi.shape[1], k, "claims")
        fits = fit_mixture(psi, y, starts, ridge=RIDGE, max_iterations=2000)
        steps[k] = fits.n_iterations.double().mean(1).numpy()
    told = ", ".join(f"K={k}: {v.mean():.0f}" for k, v in steps.items())
    name = "steps of EM with K = 5, less twice those with K = 2"
    return Finding(more(name, steps[5], 2 * steps[2]), f"until L_c falls by less than 1e-5: {told}")


def _told(at: tuple[float, ...], values: np.ndarray) -> str:
    """``0: 0.71, 0.5: 0.64``: means over seeds of (B, m)."""
    return ", ".join(f"{x:g}: {v:.2f}" for x, v in zip(at, values.mean(0), strict=True))


CLAIMS = (
    Claim(4, "1, A.4", "Environments inferred from invariant representations lose heterogeneity",
          invariant_inference_sees_nothing),
    Claim(6, "1, 3", "M_c and M_p promote each other over the iterations", iterations_promote),
    Claim(15, "3.2", "Psi_V captures variant components better than Psi",
          variant_part_is_better_captured),
    Claim(18, "4", "Better learned environments benefit the invariant predictor",
          better_environments_help),
    Claim(21, "4, A.3", "Distant centres: larger I(I;J), better clusters; larger beta: more",
          distant_centres_are_clearer),
    Claim(22, "4, Theorem 4.2", "A better theta_inv gives a better Psi_V, and more heterogeneity",
          better_direction_better_variant_part),
    Claim(36, "5.1, 6", "Clustering converges much more slowly if K is far from the truth",
          many_clusters_converge_slowly),
    Claim(47, "Figure 2, 7", "Accuracy is highly correlated with the environments' heterogeneity",
          heterogeneity_tells_accuracy),
)  # fmt: skip
