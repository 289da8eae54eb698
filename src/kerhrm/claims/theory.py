"""Statements of algebra and theory, checked on small draws of the project's own data sets."""

from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from kerhrm.algorithm.invariant import PRINTED, minimise_risks
from kerhrm.algorithm.mixture import Mixture, fit_mixture, orthogonal_update, random_starts
from kerhrm.algorithm.penalties.base import Risks
from kerhrm.claims.claim import Claim
from kerhrm.claims.evidence import Case, Finding
from kerhrm.claims.labs import RIDGE
from kerhrm.claims.parts import ROUNDING, Part, all_of, exact, more
from kerhrm.data.regression import generator as regression
from kerhrm.data.regression.options import RegressionData
from kerhrm.features.extract import extract
from kerhrm.features.ntf import FactoredNTF
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm.randomness import stream
from kerhrm.scoring.truths import kept_given_y

SMALL_WIDTH, SMALL_N, SMALL_K = 16, 60, 10  #: of a network whose Phi is written out
EM_STEPS = 5000
LARGE_ALPHA = 1e9
MANY = 4  #: clusters


def reduced_fit_is_the_same(case: Case) -> Finding:
    """Ridge regression on Phi = U S V^T and on Psi = U S: the same change w - w_0 = V theta."""
    lab = case.labs.classification
    x, y = lab.samples.x[:1, :SMALL_N], lab.problem.y[0, :SMALL_N]
    network = build(NetworkOptions(widths=[SMALL_WIDTH]), lab.seeds[:1], x.shape[-1])
    with torch.no_grad():
        ntf, f0 = extract(network, x)
    assert isinstance(ntf, FactoredNTF)
    phi = written_out(ntf)[0]
    target = y - f0[0].double()
    u, s, vt = (part[..., :SMALL_K] for part in _svd(phi))
    truncated = u * s @ vt.mT
    ridge = 1e-3 * float((s**2).mean())
    change, theta = _ridge(truncated, target, ridge), _ridge(u * s, target, ridge)
    wrong = float((change - vt @ theta).norm() / change.norm())
    whole = phi @ _ridge(phi, target, ridge)
    rest, rest_whole = (
        float(((target - fit) ** 2).mean() / (target**2).mean()) for fit in (u * s @ theta, whole)
    )
    note = (
        f"Phi cut to rank k, p = {phi.shape[1]}, n = {len(phi)}, k = {SMALL_K}; of the label's "
        f"square {rest:.3f} remains unexplained, with all of Phi {rest_whole:.3f}"
    )
    return Finding(exact("relative distance of w - w_0 and V theta", wrong), note)


def written_out(ntf: FactoredNTF) -> Tensor:
    """Phi (B, n, p), float64."""
    columns = []
    for a, d in zip(ntf.activations, ntf.deltas, strict=False):  # the last activation is f_0
        a, d = a.double(), d.double()
        columns += [(d.unsqueeze(-1) * a.unsqueeze(-2)).flatten(2), d]
    return torch.cat(columns, -1)


def clustering_is_convex(case: Case) -> Finding:
    """L_c half-way between two optima, less their value: a convex function is not above it."""
    lab = case.labs.classification
    psi, y = lab.problem.psi_train, lab.problem.target
    fits = lab.fit(psi, y, case.labs.size)
    best = fits.objective[0].argmin()
    one = fits.take(0, best)
    centres = one.theta  # the other optimum has them swapped, which changes nothing
    middle = Mixture(
        centres.mean(0, keepdim=True).expand_as(centres), torch.full_like(one.weights, 0.5),
        one.sigma, one.objective, one.n_iterations, one.converged,
    )  # fmt: skip
    ends, between = (-float(m.log_likelihood(psi[0], y[0])) for m in (one, middle))
    reached = lab.fit(psi, y, case.labs.size, MANY).objective[0]
    note = (
        f"D_KL is L_c plus a constant, by definition; but L_c is not convex in the centres: "
        f"{ends:.2f} nats where EM ends and at the mirror image, {between:.2f} half-way. "
        f"With K = {MANY}, {len(reached)} starts end between {float(reached.min()):.3f} and "
        f"{float(reached.max()):.3f}"
    )
    return Finding(
        exact("L_c half-way between two optima less its value there", between - ends), note
    )


def kernel_form_is_the_same(case: Case) -> Finding:
    """Fits of the centres by n x n and by k x k systems, with a k far above the paper's."""
    lab = case.labs.classification
    ntf, _ = extract(lab.network.take(slice(1)), lab.samples.x[:1])
    u, s, _ = _svd(ntf.kernel(ntf)[0].double())
    n = len(u)
    y = lab.problem.target[:1]
    start = random_starts(lab.seeds[:1], 1, n, 2, "claims", "kernel")
    wrong, ks = [], sorted({lab.problem.s.shape[-1], n // 5})
    for k in ks:
        psi = u[:, :k] * s[:k].sqrt()
        step = fit_mixture(psi[None], y, start, ridge=RIDGE, max_iterations=1)
        penalty = n * RIDGE * (psi**2).sum() / (n * k)
        kappa = psi @ psi.mT
        for j in range(2):
            root = start[0, 0, :, j]  # memberships are 0 or 1
            system = root[:, None] * kappa * root + penalty * torch.eye(n, dtype=kappa.dtype)
            by_kernel = kappa @ (root * torch.linalg.solve(system, root * y[0]))
            by_features = psi @ step.theta[0, 0, j]
            wrong.append(float((by_kernel - by_features).norm() / by_features.norm()))
    note = f"k = {' and '.join(map(str, ks))}, n = {n}; systems of the kernel stay n x n"
    return Finding(exact("relative distance of the two fits", max(wrong)), note)


def rate_distortion(case: Case) -> Finding:
    """L_c against I(I;J) + E d / (2 sigma^2) + log(sigma sqrt(2 pi)), with q at its optimum."""
    lab = case.labs.classification
    psi, y = lab.problem.psi_train, lab.problem.target
    fits = lab.fit(psi, y, case.labs.size).take(slice(None), 0)
    wrong = []
    for b in range(len(y)):
        distance = (y[b][:, None] - psi[b] @ fits.theta[b].mT) ** 2
        beta, q = 1 / (2 * fits.sigma[b] ** 2), fits.weights[b]
        for _ in range(EM_STEPS):
            before, q = q, torch.softmax(q.log() - beta * distance, -1).mean(0)
            if torch.equal(before, q):
                break
        r = torch.softmax(q.log() - beta * distance, -1)
        constant = (fits.sigma[b] * (2 * torch.pi) ** 0.5).log()
        rate, distortion = shared_information(r), (r * distance).sum(-1).mean()
        left = constant - torch.logsumexp(q.log() - beta * distance, -1).mean()
        wrong.append(float((left - rate - beta * distortion - constant).abs()))
    note = f"{len(wrong)} fitted mixtures, K = 2, in nats"
    return Finding(exact("difference of the two sides, at most", max(wrong)), note)


def shared_information(r: Tensor) -> Tensor:
    """I(I;J) of memberships (..., n, K), nats."""
    q = r.mean(-2, keepdim=True)
    return (torch.special.xlogy(r, r) - torch.special.xlogy(r, q)).sum(-1).mean(-1)


def example_comes_true(case: Case) -> Finding:
    """X = Y (S + beta_e V) + noise: theta_inv, what it leaves, and the clustering after it."""
    d, n, betas, noise = 10, 2 * case.labs.size.points, (2.0, -1.0), 0.5
    invariant, variant = torch.zeros(2, d, dtype=torch.float64)
    invariant[0], variant[1] = 1.0, 1.0
    means = torch.stack([invariant + beta * variant for beta in betas])
    second = means[:, :, None] * means[:, None, :] + noise**2 * torch.eye(d, dtype=torch.float64)
    half, none = torch.full((2,), 0.5, dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    theta = minimise_risks(Risks(second, means, half, none), LARGE_ALPHA, PRINTED)
    cosine = float(theta @ invariant / theta.norm())
    left = orthogonal_update(means, theta.expand(2, d))
    wrong = max(1 - cosine, float((left - torch.tensor(betas)[:, None] * variant).abs().max()))
    parts = [exact("theta_inv from S, Psi_V from Y beta_e V", wrong, tolerance=1e-6)]
    found: dict[str, list[float]] = {"X": [], "Psi_V": [], "random": []}
    for seed in case.labs.seeds:
        random = stream(seed, "claims", "example")
        first = torch.from_numpy(random.integers(2, size=n)) == 0
        y = torch.from_numpy(random.choice([-1.0, 1.0], size=n))
        x = y[:, None] * torch.where(first[:, None], means[0], means[1])
        x = x + noise * torch.from_numpy(random.standard_normal((n, d)))
        # the optimum, not how to get there: one start knows the environments
        known = torch.stack([first, ~first], -1).double()[None, None]
        starts = random_starts([seed], case.labs.size.restarts, n, 2, "claims", "example")
        for name, psi in (("X", x), ("Psi_V", orthogonal_update(x, theta))):
            given = torch.cat([known, starts], 1)
            fits = fit_mixture(psi[None], y[None], given, ridge=RIDGE, tolerance=1e-7).take(0)
            right = agreement(fits.responsibilities(psi, y), first)
            found[name].append(float(right[fits.objective.argmin()]))
        found["random"].append(float(right[1 + fits.objective[1:].argmin()]))
    name = "points in their environment, at the optimum by Psi_V less that by X"
    parts.append(more(name, found["Psi_V"], found["X"]))
    told = {name: float(np.mean(values)) for name, values in found.items()}
    note = (
        f"both by population moments, alpha = {LARGE_ALPHA:.0e}, but Psi_V keeps the noise. Right "
        f"points at the likeliest optimum {told['Psi_V']:.3f} by Psi_V, {told['X']:.3f} by X; by "
        f"Psi_V from random starts alone {told['random']:.3f}"
    )
    return Finding(all_of(parts), note)


def agreement(r: Tensor, truth: Tensor) -> Tensor:
    """Share of points (..., n) that two soft environments (..., n, 2) tell apart as the truth."""
    share = torch.where(truth, r[..., 0], r[..., 1]).mean(-1)
    return torch.maximum(share, 1 - share)


def both_inverses_exist(case: Case) -> Finding:
    """Printed: (Psi^T Psi)^-1 Psi^T Y = Psi^T (Psi Psi^T)^-1 Y of Psi_V, with inverses."""
    lab = case.labs.classification
    theta = lab.direction(lab.perfect, 1.0)[0]
    psi = orthogonal_update(lab.problem.psi_train[0], theta).numpy()
    y = lab.problem.y[0].numpy()
    n, k = psi.shape
    ranks = [int(np.linalg.matrix_rank(m)) for m in (psi.T @ psi, psi @ psi.T)]
    small, large = (np.linalg.pinv(m, rcond=1e-10) for m in (psi.T @ psi, psi @ psi.T))
    one, other = small @ psi.T, psi.T @ large
    apart = float(np.linalg.norm(one @ y - other @ y) / np.linalg.norm(one @ y))
    along = float(abs(one @ y @ theta.numpy()) / np.linalg.norm(one @ y) / float(theta.norm()))
    note = (
        f"without theta_inv the k x k matrix (k = {k}) has rank {ranks[0]}, the n x n matrix "
        f"(n = {n}) rank {ranks[1]}: neither has an inverse. With pseudo-inverses "
        f"the two {'are' if max(apart, along) < ROUNDING else 'are not'} equal, and orthogonal to "
        "theta_inv"
    )
    missing = (k - ranks[0]) + (n - ranks[1])
    return Finding(exact("ranks that the two matrices lack", missing), note)


def label_given_s_is_invariant(case: Case) -> Finding:
    """P(Y|S) of the regression in two environments: selection looks at the noisy label.

    Given S, Y has density N(y; f(S), noise^2) g_r(y), normalised, with g_r the probability that a
    point of label y is kept.
    """
    data = RegressionData(generator="regression")
    constants = regression.constants_of(data)
    y = np.linspace(-8, 8, 4001)
    laws = {}
    for r in (data.r, data.r_second, *data.test_r):
        density = np.exp(-((y - 1.0) ** 2) / (2 * constants.noise**2))
        law = density * kept_given_y(y, r, constants.tau)
        laws[r] = law / law.sum()
    apart = {(a, b): float(np.abs(laws[a] - laws[b]).sum() / 2) for a in laws for b in laws}
    most = max(apart, key=lambda pair: apart[pair])
    name = "total variation of P(Y | f(S) = 1) between two environments of Table 3"
    note = (
        f"r = {most[0]:g} and {most[1]:g}; {apart[data.r, data.r_second]:.3f} between those of the "
        f"training, {data.r:g} and {data.r_second:g}, as the label's noise takes part in the "
        "selection; in the classification S depends on Y alone, so that P(Y|S) is the same"
    )
    return Finding(exact(name, apart[most]), note)


def bias_sets_correlation(case: Case) -> Finding:
    """Correlation of V_b and Y over |r|, and its sign."""
    biases, n = (1.1, 1.5, 1.9, 2.3, 2.9), 4 * case.labs.size.points
    bias = RegressionData(generator="regression")
    found: dict[float, list[float]] = {}
    for r in (sign * b for b in biases for sign in (1, -1)):
        for seed in case.labs.seeds:
            _, v, y = regression.draw(_stream(seed, r), n, r, bias)
            found.setdefault(r, []).append(float(np.corrcoef(v[:, -1], y)[0, 1]))
    parts: list[Part] = []
    for sign, lower, upper in ((s, *pair) for s in (1, -1) for pair in pairwise(biases)):
        a, b = (sign * np.array(found[sign * r]) for r in (upper, lower))
        parts.append(more(f"correlation at r = {sign * upper} against {sign * lower}", a, b))
    parts += [
        more(f"sign at r = {s * biases[0]}", s * np.array(found[s * biases[0]])) for s in (1, -1)
    ]
    told = ", ".join(f"{r:g}: {np.mean(found[r]):+.2f}" for r in (*biases, *(-b for b in biases)))
    return Finding(all_of(parts), f"correlation of V_b and Y by r: {told}")


def _stream(seed: int, r: float) -> np.random.Generator:
    return stream(seed, "claims", f"r={r:g}")


def _svd(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V."""
    u, s, vt = torch.linalg.svd(matrix, full_matrices=False)
    return u, s, vt.mT


def _ridge(features: Tensor, y: Tensor, ridge: float) -> Tensor:
    """argmin |y - features w|^2 + ridge |w|^2, by the smaller system; (n, p), (n,) to (p,)."""
    n = len(y)
    system = features @ features.mT + ridge * torch.eye(n, dtype=features.dtype)
    return features.mT @ torch.linalg.solve(system, y)


CLAIMS = (
    Claim(8, "Assumption 2.1", "P(Y|S) is the same in all environments of the experiments",
          label_given_s_is_invariant),
    Claim(12, "3.1", "Fitting w - w_0 on Phi is fitting theta on Psi", reduced_fit_is_the_same),
    Claim(16, "3.3", "Least D_KL(P_N || Q) is least L_c, and the clustering is convex",
          clustering_is_convex),
    Claim(17, "3.3", "Kernel regression allows a large k", kernel_form_is_the_same),
    Claim(20, "Theorem 4.1", "L_c is a rate and a distortion: I(I;J) + E d / (2 sigma^2)",
          rate_distortion),
    Claim(23, "4, example", "theta_inv = Psi_S, Psi_V = Y beta_e Psi_V, and the next clustering is "
          "best", example_comes_true),
    Claim(24, "A.3", "Two printed forms of Theta_j, each with an inverse, are equal",
          both_inverses_exist),
    Claim(37, "5.1, A.1", "A larger |r| is a stronger correlation of V and Y, with the sign of r",
          bias_sets_correlation),
)  # fmt: skip
