"""Claims that are identities, or that a counterexample contradicts, on small draws.

Those about distributions live in the world of ``counted_worlds.py``.
"""

from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
import torch
from counted_worlds import (
    BY_S,
    RATES,
    S,
    divergence_of_x,
    invariance_set,
    representations,
    represented,
    world,
)
from linear_fits import ridge_fit, svd, written_out
from scipy.optimize import minimize
from scipy.special import rel_entr
from scipy.stats import entropy

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import (
    Mixture,
    fit_mixture,
    orthogonal_update,
    random_starts,
)
from kerhrm.algorithm.penalties import GradientVariance, Risks
from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import FactoredNTF, extract
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm_paper.claims.check import CLAIMS
from kerhrm_paper.claims.declare import ShownByTest
from kerhrm_paper.claims.evidence import Evidence
from kerhrm_paper.claims.lab import RIDGE, Lab, Size
from kerhrm_paper.data import classification
from kerhrm_paper.data.closed_forms import invariant_ceiling, kept_given_y
from kerhrm_paper.data.regression import RegressionData

ROOT = Path(__file__).parents[3]
TABLE1 = (0.7, 0.75, 0.8)
SHOWN = {
    number: result
    for number, claim in CLAIMS.items()
    if claim.test.__annotations__["return"] is ShownByTest
    and isinstance(result := claim.test(Evidence({})), ShownByTest)
}


def effect_of(number: int) -> float:
    """The effect that a claim declares."""
    return SHOWN[number].effect


def test_more_environments_leave_fewer_representations() -> None:
    assert len(representations()) == 15  # Bell's number
    whole = invariance_set(RATES)
    parts = [c for n in (1, 2, 3) for c in combinations(RATES, n)]
    assert effect_of(7) == sum(len(whole - invariance_set(c)) for c in parts)
    assert (
        len(invariance_set(RATES[:1]))
        == 15
        > len(invariance_set(RATES[:2]))
        >= len(whole)
    )
    assert BY_S in whole
    assert (0, 1, 0, 1) not in whole  # V


def test_selection_changes_the_label_given_s() -> None:
    """Y has density N(y; f(S), noise^2) g_r(y) given S, g_r the probability that y is
    kept."""
    data, y = RegressionData(), np.linspace(-8, 8, 4001)
    laws = []
    for r in (data.r, data.r_second, *data.test_r):
        law = np.exp(-((y - 1.0) ** 2) / (2 * data.noise**2)) * kept_given_y(
            y, r, data.tau
        )
        laws.append(law / law.sum())
    apart = max(float(np.abs(a - b).sum() / 2) for a, b in combinations(laws, 2))
    assert apart == pytest.approx(effect_of(8), abs=1e-6)


def test_the_invariant_predictor_is_minimax() -> None:
    """P(V | Y) may be anything, so the worst environment is a corner: V a function of
    Y."""
    of_s = np.array([[S, 1 - S], [1 - S, S]])
    corners = []
    for plus, minus in product((0.0, 1.0), repeat=2):  # P(V=+ | Y=+), P(V=+ | Y=-)
        of_v = np.array([[1 - minus, minus], [1 - plus, plus]])
        corners.append(0.5 * (of_s[:, :, None] * of_v[:, None, :]).reshape(2, 4))

    def worst(h: np.ndarray) -> float:
        return max((c * (h - np.array([[-1.0], [1.0]])) ** 2).sum() for c in corners)

    best = minimize(
        lambda z: z[-1],
        np.r_[np.zeros(4), 1.0],
        method="SLSQP",
        options={"ftol": 1e-14},
        constraints=[
            {
                "type": "ineq",
                "fun": lambda z, c=c: z[-1] - (c * (z[:-1] - [[-1], [1]]) ** 2).sum(),
            }
            for c in corners
        ],
    )
    invariant = (2 * S - 1) * np.array([-1, -1, 1, 1])  # E[Y | S]
    assert worst(invariant) - worst(best.x[:-1]) == pytest.approx(
        effect_of(9), abs=1e-6
    )

    def information(blocks: tuple[int, ...]) -> float:
        joint = represented(world(0.9), blocks)
        return float(rel_entr(joint, joint.sum(0) * joint.sum(1, keepdims=True)).sum())

    assert max(invariance_set(RATES), key=information) == BY_S


def test_any_variation_leaves_the_smallest_set() -> None:
    """Not only the most: D_KL between P(Y|V) of two environments."""
    grid = (0.1, 0.3, 0.5, 0.7, 0.9)
    pairs = [*combinations(grid, 2), *((r, r) for r in grid)]
    varied = {p: entropy([p[0], 1 - p[0]], [p[1], 1 - p[1]]) for p in pairs}
    least = min(len(invariance_set(p)) for p in pairs)
    smallest = [p for p in pairs if len(invariance_set(p)) == least]
    less = [p for p in smallest if varied[p] < max(varied.values()) - 1e-12]
    assert effect_of(10) == len(less)


def test_the_variant_part_varies_more() -> None:
    gaps = [
        divergence_of_x(r, q) - entropy([r, 1 - r], [q, 1 - q])
        for r, q in permutations(sorted({*RATES, *TABLE1}), 2)
    ]
    assert max(gaps) == pytest.approx(effect_of(19), abs=1e-6)


def test_printed_sigmas_make_s_more_informative() -> None:
    """Best accuracy of S alone less that of V alone in pooled training data, of Table
    1."""
    data = classification.ClassificationData()
    pooled = max((data.r1 + r2) / 2 for r2 in TABLE1)
    as_variances = invariant_ceiling(data.d, data.sigma_s**0.5) - pooled
    assert as_variances == pytest.approx(effect_of(25), abs=1e-6)
    assert invariant_ceiling(data.d, data.sigma_s) < pooled


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("classification", 100, Size())


def test_training_is_linear_regression(lab: Lab) -> None:
    """Gradient descent of the network, and of its linearisation by as many steps at
    once.

    With squared loss, residuals of the latter are (I - 2 eta K / n)^t times those at
    w_0.
    """
    network, x, y, steps = (
        lab.inputs.network,
        lab.inputs.x,
        lab.inputs.y,
        lab.size.steps,
    )
    ntf, f0 = extract(network, x)
    values, vectors = torch.linalg.eigh(ntf.kernel(ntf).double())
    # of |f - y|^2 / n, stable below twice that
    rate = 0.5 * len(values) / float(values[-1])
    left = (1 - 2 * rate / len(values) * values) ** steps
    residual = vectors.mT @ (y - f0).double()
    weights = vectors @ ((1 - left) * residual / values.clamp_min(1e-9 * values[-1]))
    f0_test, along = Linearisation.along(network, x, weights[:, None])(lab.x_test)
    trained = network.trainable()
    optimizer = torch.optim.SGD(trained.weights.values(), rate)
    for _ in range(steps):
        optimizer.zero_grad()
        ((trained(x) - y) ** 2).mean().backward()
        optimizer.step()
    differ = (trained(lab.x_test) > 0) != (f0_test + along[:, 0] > 0)
    assert float(differ.double().mean()) == pytest.approx(effect_of(2), abs=0.002)
    assert ((left * residual) ** 2).sum() < 0.5 * (residual**2).sum()  # it has learned


def test_the_reduced_fit_is_the_same(lab: Lab) -> None:
    """Ridge regression on Phi = U S V^T and on Psi = U S: the same change w - w_0 = V
    theta."""
    x, y = lab.inputs.x[:60], lab.problem.y[:60]
    ntf, f0 = extract(build(NetworkOptions(widths=[16]), 100, x.shape[-1]), x)
    assert isinstance(ntf, FactoredNTF)
    phi = written_out(ntf)
    torch.testing.assert_close(
        phi @ phi.mT, ntf.kernel(ntf).double(), rtol=1e-5, atol=1e-6
    )
    u, s, v = (part[..., :10] for part in svd(phi))
    ridge = 1e-3 * float((s**2).mean())
    change = ridge_fit(u * s @ v.mT, y - f0.double(), ridge)
    theta = ridge_fit(u * s, y - f0.double(), ridge)
    assert float((change - v @ theta).norm() / change.norm()) < 1e-8
    assert effect_of(12) == 0


def test_the_clustering_is_not_convex(lab: Lab) -> None:
    """L_c half-way between two optima is above them; a convex function is not."""
    psi, y = lab.problem.psi_train, lab.problem.target
    fits = lab.mixtures(psi)
    one = fits.take(fits.objective.argmin())
    # The other optimum has the centres swapped, which changes nothing.
    middle = Mixture(
        one.theta.mean(0, keepdim=True).expand_as(one.theta),
        torch.full_like(one.weights, 0.5),
        one.sigma,
        one.objective,
        one.n_iterations,
        one.converged,
    )
    ends, between = (
        -float(Mixture(*(t[None] for t in vars(m).values())).log_likelihood(psi, y)[0])
        for m in (one, middle)
    )
    assert between - ends == pytest.approx(effect_of(16), abs=1e-4)


def test_the_kernel_form_is_the_same(lab: Lab) -> None:
    """Fits of the centres by n x n and by k x k systems, with a k far above the
    paper's."""
    x, y = lab.inputs.x[:400], lab.problem.target[:400]
    ntf, _ = extract(lab.inputs.network, x)
    u, s, _ = svd(ntf.kernel(ntf).double())
    start = random_starts(100, 1, len(y), 2, "claims", "kernel")
    for k in (15, 80):
        psi = u[:, :k] * s[:k].sqrt()
        step = fit_mixture(psi, y, start, ridge=RIDGE, em=EM(max_iter=1))
        penalty, kappa = len(y) * RIDGE * (psi**2).sum() / psi.numel(), psi @ psi.mT
        for j in range(2):
            root = start[0, :, j]  # memberships are 0 or 1
            system = root[:, None] * kappa * root + penalty * torch.eye(
                len(y), dtype=kappa.dtype
            )
            by_kernel = kappa @ (root * torch.linalg.solve(system, root * y))
            by_features = psi @ step.theta[0, j]
            assert float((by_kernel - by_features).norm() / by_features.norm()) < 1e-8
    assert effect_of(17) == 0


def test_the_objective_is_rate_and_distortion(lab: Lab) -> None:
    """L_c is I(I;J) + E d / (2 sigma^2) + log(sigma sqrt(2 pi)), with q
    at its optimum."""
    psi, y = lab.problem.psi_train, lab.problem.target
    fit = lab.mixtures(psi).take(0)
    distance, sigma = (y[:, None] - psi @ fit.theta.mT) ** 2, fit.sigma[0]
    beta, q = 1 / (2 * sigma**2), fit.weights
    for _ in range(5000):
        q = torch.softmax(q.log() - beta * distance, -1).mean(0)
    r = torch.softmax(q.log() - beta * distance, -1)
    constant = (sigma * (2 * torch.pi) ** 0.5).log()
    left = constant - torch.logsumexp(q.log() - beta * distance, -1).mean()
    rate = (
        (torch.special.xlogy(r, r) - torch.special.xlogy(r, r.mean(0))).sum(-1).mean()
    )
    right = rate + beta * (r * distance).sum(-1).mean() + constant
    assert float((left - right).abs()) < 1e-8
    assert effect_of(20) == 0


def test_the_example_comes_true() -> None:
    """X = Y (S + beta_e V) + noise, by population moments: theta_inv is S, and Psi_V Y
    beta_e V."""
    d, betas, eye = 10, torch.tensor([2.0, -1.0]).double(), torch.eye(10).double()
    means = eye[0] + betas[:, None] * eye[1]
    second = means[:, :, None] * means[:, None, :] + 0.25 * eye
    risks = Risks(
        second=second,
        cross=means,
        constant=torch.ones(2).double(),  # of Y in {-1, 1}
        weights=torch.full((2,), 0.5).double(),
        rho=torch.zeros(()).double(),
    )
    theta = GradientVariance().minimise(risks, 1e9)
    assert float(theta[0] / theta.norm()) == pytest.approx(1, abs=1e-6)
    left = orthogonal_update(means, theta)
    torch.testing.assert_close(
        left, betas[:, None] * eye[1].expand(2, d), atol=1e-6, rtol=0
    )
    assert effect_of(23) == 0


def test_neither_inverse_exists(lab: Lab) -> None:
    """Printed: (Psi^T Psi)^-1 Psi^T Y = Psi^T (Psi Psi^T)^-1 Y of Psi_V."""
    psi = orthogonal_update(lab.problem.psi_train, lab.direction(lab.perfect)).numpy()
    y, missing = lab.problem.y.numpy(), 0
    fits = []
    for matrix in (psi.T @ psi, psi @ psi.T):
        missing += len(matrix) - int(np.linalg.matrix_rank(matrix))
        inverse = np.linalg.pinv(matrix, rcond=1e-10)
        fits.append(
            inverse @ psi.T @ y if len(matrix) < len(y) else psi.T @ inverse @ y
        )
    assert effect_of(24) == missing
    # with pseudo-inverses they are
    np.testing.assert_allclose(*fits, rtol=1e-6, atol=1e-9)


def test_every_claim_by_a_test_names_one_that_exists() -> None:
    assert len(SHOWN) == 13
    for result in SHOWN.values():
        file, _, name = result.test.partition("::")
        assert (ROOT / file).samefile(__file__)
        assert name in globals()
