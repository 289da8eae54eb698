"""Claims that are identities of fits, or that a counterexample contradicts, on small
draws of Table 1's data."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from linear_fits import ridge_fit, svd, written_out
from numpy.testing import assert_allclose
from shown_claims import effect_of
from torch import Tensor
from torch.testing import assert_close

from kerhrm.algorithm.em import EM
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.penalties import GradientVariance
from kerhrm.algorithm.problem import Risks
from kerhrm.algorithm.starts import random_starts
from kerhrm.algorithm.variant import orthogonal_update
from kerhrm.features.linearised import Linearisation
from kerhrm.features.ntf import FactoredNTF, extract
from kerhrm.networks.build import build
from kerhrm.networks.options import NetworkOptions
from kerhrm_paper.claims.lab import RIDGE, Lab, Size


def relative_error(found: Tensor, expected: Tensor) -> float:
    distance = (found - expected).norm()
    return float(distance / expected.norm())


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab("classification", 100, Size())


def test_training_is_linear_regression(lab: Lab) -> None:
    """Gradient descent of the network, and of its linearisation by as many steps at
    once.

    With squared loss, residuals of the latter are (I - 2 eta K / n)^t times those at
    w_0.
    """
    network = lab.inputs.network
    x = lab.inputs.x
    y = lab.inputs.y
    n = len(y)
    steps = lab.size.steps

    # the linearisation, in the basis of K's eigenvectors
    ntf, f0 = extract(network, x)
    kernel = ntf.kernel(ntf).double()
    values, vectors = torch.linalg.eigh(kernel)
    largest = values[-1]
    rate = 0.5 * n / float(largest)  # of |f - y|^2 / n, stable below twice that
    contraction = 1 - 2 * rate / n * values
    shrinkage = contraction**steps
    errors_at_start = (y - f0).double()
    residual = vectors.mT @ errors_at_start
    learned = (1 - shrinkage) * residual
    positive = values.clamp_min(1e-9 * largest)
    weights = vectors @ (learned / positive)
    direction = weights[:, None]
    linearised = Linearisation.along(network, x, direction)
    f0_test, change = linearised(lab.x_test)
    f_linear = f0_test + change[:, 0]

    # the network
    trained = network.trainable()
    weights = trained.weights.values()
    optimizer = torch.optim.SGD(weights, rate)
    for _ in range(steps):
        optimizer.zero_grad()
        errors = trained(x) - y
        loss = (errors**2).mean()
        loss.backward()
        optimizer.step()
    f_network = trained(lab.x_test)

    differ = (f_network > 0) != (f_linear > 0)
    share = float(differ.double().mean())
    assert share == pytest.approx(effect_of(2), abs=0.002)
    remaining = shrinkage * residual
    squared_remaining = (remaining**2).sum()
    squared_residual = (residual**2).sum()
    assert squared_remaining < 0.5 * squared_residual  # it has learned


def test_the_reduced_fit_is_the_same(lab: Lab) -> None:
    """Ridge regression on Phi = U S V^T and on Psi = U S: the same change w - w_0 = V
    theta."""
    x = lab.inputs.x[:60]
    y = lab.problem.y[:60]
    options = NetworkOptions(widths=[16])
    n_inputs = x.shape[-1]
    network = build(options, 100, n_inputs)
    ntf, f0 = extract(network, x)
    assert isinstance(ntf, FactoredNTF)
    phi = written_out(ntf)
    kernel = ntf.kernel(ntf).double()
    assert_close(phi @ phi.mT, kernel, rtol=1e-5, atol=1e-6)

    u, s, v = (factor[..., :10] for factor in svd(phi))
    psi = u * s
    residual = y - f0.double()
    mean_square = float((s**2).mean())
    ridge = 1e-3 * mean_square
    change = ridge_fit(psi @ v.mT, residual, ridge)
    theta = ridge_fit(psi, residual, ridge)
    assert relative_error(v @ theta, change) < 1e-8
    assert effect_of(12) == 0


def test_the_clustering_is_not_convex(lab: Lab) -> None:
    """L_c half-way between two optima is above them; a convex function is not."""
    psi = lab.problem.psi_train
    y = lab.problem.target

    def loss(mixture: Mixture) -> float:
        """L_c."""
        with_start_axis = (tensor[None] for tensor in vars(mixture).values())
        starts = Mixture(*with_start_axis)
        (log_likelihood,) = starts.log_likelihood(psi, y)
        return -float(log_likelihood)

    fits = lab.mixtures(psi)
    optimum = fits.take(fits.objective.argmin())
    # The other optimum has the centres swapped, which changes nothing.
    centre = optimum.theta.mean(0, keepdim=True)
    middle = replace(
        optimum,
        theta=centre.expand_as(optimum.theta),
        weights=torch.full_like(optimum.weights, 0.5),
    )
    above = loss(middle) - loss(optimum)
    assert above == pytest.approx(effect_of(16), abs=1e-4)


def test_the_kernel_form_is_the_same(lab: Lab) -> None:
    """Fits of the centres by n x n and by k x k systems, with a k far above the
    paper's."""
    x = lab.inputs.x[:400]
    y = lab.problem.target[:400]
    n = len(y)
    ntf, _ = extract(lab.inputs.network, x)
    kernel = ntf.kernel(ntf).double()
    u, s, _ = svd(kernel)
    start = random_starts(100, 1, n, 2, "claims", "kernel")
    identity = torch.eye(n, dtype=torch.float64)
    for k in (15, 80):
        scale = s[:k].sqrt()
        psi = u[:, :k] * scale
        kappa = psi @ psi.mT
        mean_square = (psi**2).mean()
        penalty = n * RIDGE * mean_square
        one_step = EM(max_iter=1)
        step = fit_mixture(psi, y, start, ridge=RIDGE, em=one_step)
        for j in range(2):
            root = start[0, :, j]  # of memberships, which are 0 or 1
            weighted = root[:, None] * kappa * root
            system = weighted + penalty * identity
            solution = torch.linalg.solve(system, root * y)
            dual = root * solution
            by_features = psi @ step.theta[0, j]
            assert relative_error(kappa @ dual, by_features) < 1e-8
    assert effect_of(17) == 0


def test_the_objective_is_rate_and_distortion(lab: Lab) -> None:
    """L_c is I(I;J) + E d / (2 sigma^2) + log(sigma sqrt(2 pi)), with q
    at its optimum."""
    psi = lab.problem.psi_train
    y = lab.problem.target
    fit = lab.mixtures(psi).take(0)
    sigma = fit.sigma[0]
    beta = 1 / (2 * sigma**2)
    predictions = psi @ fit.theta.mT
    distance = (y[:, None] - predictions) ** 2
    q = fit.weights
    for _ in range(5000):
        log_shares = q.log() - beta * distance
        q = torch.softmax(log_shares, -1).mean(0)
    logits = q.log() - beta * distance
    r = torch.softmax(logits, -1)
    root = (2 * torch.pi) ** 0.5
    constant = (sigma * root).log()
    log_likelihood = torch.logsumexp(logits, -1).mean()
    objective = constant - log_likelihood

    mean_shares = r.mean(0)
    entropy_of_means = torch.special.xlogy(r, mean_shares)
    relative_entropy = torch.special.xlogy(r, r) - entropy_of_means
    rate = relative_entropy.sum(-1).mean()
    expected_distance = (r * distance).sum(-1)
    distortion = expected_distance.mean()
    by_rate_and_distortion = rate + beta * distortion + constant
    difference = objective - by_rate_and_distortion
    assert float(difference.abs()) < 1e-8
    assert effect_of(20) == 0


def test_the_example_comes_true() -> None:
    """X = Y (S + beta_e V) + noise, by population moments: theta_inv is S, and Psi_V Y
    beta_e V."""
    betas = torch.tensor([2.0, -1.0]).double()
    eye = torch.eye(10).double()
    s, v = eye[:2]
    spurious = betas[:, None] * v
    means = s + spurious  # E[X Y] of each environment
    outer = means[:, :, None] * means[:, None, :]
    risks = Risks(
        second=outer + 0.25 * eye,
        cross=means,
        constant=torch.ones(2).double(),  # of Y in {-1, 1}
        weights=torch.full((2,), 0.5).double(),
        rho=torch.zeros(()).double(),
    )
    theta = GradientVariance().minimise(risks, 1e9)
    cosine = theta @ s / theta.norm()
    assert float(cosine) == pytest.approx(1, abs=1e-6)
    variant = orthogonal_update(means, theta)
    assert_close(variant, spurious, atol=1e-6, rtol=0)
    assert effect_of(23) == 0


def test_neither_inverse_exists(lab: Lab) -> None:
    """Printed: (Psi^T Psi)^-1 Psi^T Y = Psi^T (Psi Psi^T)^-1 Y of Psi_V."""
    direction = lab.direction(lab.perfect)
    psi_v = orthogonal_update(lab.problem.psi_train, direction)
    psi = psi_v.numpy()
    y = lab.problem.y.numpy()
    covariance = psi.T @ psi
    kernel = psi @ psi.T
    missing = 0
    for matrix in (covariance, kernel):
        missing += len(matrix) - np.linalg.matrix_rank(matrix)
    assert effect_of(24) == missing
    # with pseudo-inverses they are equal
    inverse_covariance = np.linalg.pinv(covariance, rcond=1e-10)
    inverse_kernel = np.linalg.pinv(kernel, rcond=1e-10)
    by_covariance = inverse_covariance @ psi.T @ y
    by_kernel = psi.T @ inverse_kernel @ y
    assert_allclose(by_covariance, by_kernel, rtol=1e-6, atol=1e-9)
