"""Choices that the paper leaves open, in M_c and M_p: each against an oracle of its own."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.mixture import GaussianMixture
from torch import Tensor

from kerhrm.algorithm import exploration
from kerhrm.algorithm.directions import learn_directions
from kerhrm.algorithm.exploration import explore, learn_environments
from kerhrm.algorithm.mixture import Mixture, fit_mixture
from kerhrm.algorithm.options import Clustering, Invariance, KerHRM
from kerhrm.algorithm.problem import Problem
from kerhrm.algorithm.records import Directions, Environments
from kerhrm.errors import KerhrmError

B, N, M, K_MAX = 2, 120, 60, 4


def random_problem(seed: int = 0) -> Problem:
    """Two data sets whose label follows column 0, in one of two directions."""
    rng = np.random.default_rng(seed)
    parts = []
    for n in (N, M):
        psi = rng.standard_normal((B, n, K_MAX))
        sign = np.where(rng.random((B, n)) < 0.7, 1, -1)
        y = np.where(sign * psi[..., 0] + 0.5 * rng.standard_normal((B, n)) > 0, 1.0, -1.0)
        f0 = 0.3 * rng.standard_normal((B, n))
        parts.append([torch.from_numpy(a) for a in (psi, f0, y)])
    (psi, f0, y), (psi_v, f0_v, y_v) = parts
    one = psi.new_ones(B, K_MAX)
    return Problem(psi, one, psi_v, f0, f0_v, y, y_v, "classification", [3, 8])


def dimensions(*k: int) -> Tensor:
    return torch.tensor([k] * B)


def same(left: Environments, right: Environments) -> None:
    for name in left.names():
        torch.testing.assert_close(getattr(left, name), getattr(right, name), rtol=1e-6, atol=1e-9)


def options(**changed: Any) -> Clustering:
    return Clustering(restarts=4, ridge=[1e-3, 1e-2]).model_copy(update=changed)


def found(problem: Problem, *k: int, **changed: Any) -> Environments:
    return explore(problem, dimensions(*k), options(**changed), iteration=1)


def test_labels_as_targets_are_residuals_of_an_offset_of_zero() -> None:
    data = random_problem()
    zero = {"f0_train": torch.zeros(B, N).double(), "f0_validation": torch.zeros(B, M).double()}
    same(found(data, 2, 4, target="label"), found(replace(data, **zero), 2, 4))
    assert not torch.allclose(found(data, 2).held_out, found(data, 2, target="label").held_out)


def test_an_intercept_makes_a_shift_of_all_labels_harmless() -> None:
    data = random_problem()
    shifted = replace(data, f0_train=data.f0_train - 3, f0_validation=data.f0_validation - 3)
    free = {"ridge": [1e-9], "sigma": 0.5}
    same(
        replace(found(data, 2, 4, intercept=True, **free), label_information=torch.zeros(B, 2)),
        replace(found(shifted, 2, 4, intercept=True, **free), label_information=torch.zeros(B, 2)),
    )
    plain, moved = found(data, 4, **free), found(shifted, 4, **free)
    assert not torch.allclose(plain.held_out, moved.held_out)


def test_the_intercepts_column_keeps_the_unit_of_the_ridge() -> None:
    psi, psi_v = torch.randn(50, 3).double(), torch.randn(9, 3).double()
    wide, wide_v = exploration._with_constant(psi, psi_v)
    torch.testing.assert_close((wide**2).mean(), (psi**2).mean())
    assert torch.equal(wide[:, :3], psi)
    assert wide_v.shape == (9, 4)
    assert len(torch.cat([wide[:, 3], wide_v[:, 3]]).unique()) == 1


def test_the_first_kernel_may_be_that_of_the_inputs() -> None:
    data, inputs = random_problem(), random_problem(5)
    x = inputs.psi_train.float(), inputs.psi_validation.float()
    settings = KerHRM(k=[2, 4], clustering=options(kernel="inputs"))
    got = learn_environments(data, settings, 1, None, inputs=x)
    assert got.k.tolist() == [[2, 4]] * B
    given = replace(data, u=x[0].double(), psi_validation=x[1].double())
    for g, k in enumerate((2, 4)):  # one clustering serves every k: that of all 4 inputs
        expected = found(given, 4)
        same(got.take(slice(None), [g]), replace(expected, k=torch.full_like(expected.k, k)))
    # the second iteration is about features again
    last = directions(4)
    after = learn_environments(data, settings, 2, last, inputs=x)
    usual = learn_environments(data, KerHRM(k=[2, 4], clustering=options()), 2, last)
    same(after, usual)
    with pytest.raises(KerhrmError, match="kernel 'inputs' needs the points x"):
        learn_environments(data, settings, 1, None)


def directions(k: int, seed: int = 0) -> Directions:
    theta = torch.from_numpy(np.random.default_rng(seed).standard_normal((B, 1, K_MAX)))
    theta[..., k:] = 0
    one = torch.ones(B, 1).double()
    return Directions(theta, torch.full((B, 1), k), one, one, torch.zeros(B).long())


def test_all_directions_may_be_taken_out_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Tensor] = []

    def watch(psi: Tensor, *args: Any, **rest: Any) -> Mixture:
        seen.append(psi[0])
        return fit_mixture(psi, *args, **rest)

    monkeypatch.setattr(exploration, "fit_mixture", watch)
    data, history = random_problem(), [directions(4, 1), directions(4, 2), directions(4, 3)]
    for projection in ("newest", "all"):
        settings = KerHRM(k=[4], clustering=options(projection=projection))
        learn_environments(data, settings, 4, history[-1], earlier=history[:-1])
    with pytest.raises(KerhrmError, match="needs the directions of all 3 iterations before"):
        learn_environments(data, settings, 4, history[-1])
    for b in range(B):
        whole = data.psi_train[b].numpy()
        thetas = [d.theta[b, 0].numpy() for d in history]
        projections = [np.eye(4) - np.outer(t, t) / (t @ t) for t in thetas]
        np.testing.assert_allclose(seen[b], whole @ projections[2], atol=1e-12)
        one_by_one = whole @ projections[0] @ projections[1] @ projections[2]
        np.testing.assert_allclose(seen[B + b], one_by_one, atol=1e-12)


def test_later_iterations_may_try_every_dimension_again() -> None:
    data, last = random_problem(), directions(3)
    for later_k, tried in (("kept", [3]), ("free", [2, 3, 4])):
        settings = KerHRM(k=[2, 3, 4], clustering=options(later_k=later_k))
        got = learn_environments(data, settings, 2, last)
        assert got.k.tolist() == [tried] * B
    kept = learn_environments(data, KerHRM(clustering=options()), 2, last)
    same(got.take(slice(None), [1]), kept)


@pytest.mark.parametrize("how", ["drawn", "hard"])
def test_m_p_gets_whole_points_where_they_are_assigned(how: str) -> None:
    data = random_problem()
    soft, whole = found(data, 2, 4), found(data, 2, 4, assignment=how)
    for part in ("train", "validation"):
        r, assigned = getattr(soft, part), getattr(whole, part)
        assert set(assigned.unique().tolist()) == {0, 1}
        assert bool((assigned.sum(-1) == 1).all())
        agree = (assigned * r).sum(-1)
        assert float(agree.min() if how == "hard" else agree.mean()) > 0.5
    for name in ("k", "held_out", "objective", "label_information", "usable"):
        assert torch.equal(getattr(soft, name), getattr(whole, name))


def gaussians(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """A single constant feature: the mixture is one of plain Gaussians."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([rng.normal(-2, 0.4, 150), rng.normal(1.5, 1.3, 250)])
    start = np.where((y < 0)[:, None], [0.9, 0.1], [0.2, 0.8])
    return (
        torch.ones(1, 400, 1).double(),
        torch.from_numpy(y)[None],
        torch.from_numpy(start)[None, None],
    )


@pytest.mark.parametrize("each", [False, True])
def test_of_a_constant_feature_it_is_scikit_learns_mixture_of_gaussians(each: bool) -> None:
    psi, y, start = gaussians(0)
    fit = fit_mixture(psi, y, start, ridge=1e-12, each=each, tolerance=1e-12, max_iterations=5000)
    expected = GaussianMixture(
        2, covariance_type="diag" if each else "tied", tol=1e-12, max_iter=5000, reg_covar=0,
        means_init=[[-2.0], [1.5]], random_state=0,
    ).fit(y[0, :, None].numpy())  # fmt: skip
    np.testing.assert_allclose(fit.theta[0, 0, :, 0], expected.means_[:, 0], atol=1e-4)
    np.testing.assert_allclose(fit.weights[0, 0], expected.weights_, atol=1e-4)
    variances = expected.covariances_.flatten() if each else float(expected.covariances_[0, 0])
    np.testing.assert_allclose(fit.sigma[0, 0] ** 2, variances, atol=1e-4)
    likelihood = float(fit.log_likelihood(psi[:, None], y[:, None]))
    assert likelihood == pytest.approx(expected.score(y[0, :, None].numpy()), abs=1e-6)
    r = fit.responsibilities(psi[:, None], y[:, None])[0, 0]
    np.testing.assert_allclose(r, expected.predict_proba(y[0, :, None].numpy()), atol=1e-3)


@pytest.mark.parametrize(("each", "hard"), [(True, False), (False, True), (True, True)])
def test_the_objective_never_rises(each: bool, hard: bool) -> None:
    rng = np.random.default_rng(1)
    psi, y = (
        torch.from_numpy(rng.standard_normal((1, 80, 3))),
        torch.from_numpy(rng.normal(size=(1, 80))),
    )
    start = torch.from_numpy(rng.dirichlet([1.0] * 3, (1, 5, 80)).transpose(0, 1, 2, 3))
    how = {"ridge": 0.1, "each": each, "hard": hard, "tolerance": -np.inf}
    falls = [fit_mixture(psi, y, start, **how, max_iterations=t).objective for t in range(1, 30)]
    for before, after in pairwise(falls):
        assert bool((after <= before + 1e-10).all())


def test_hard_steps_are_regressions_and_reassignments_by_turns() -> None:
    rng = np.random.default_rng(2)
    psi = rng.standard_normal((60, 3))
    y = rng.choice([-1, 1], 60) * psi[:, 0] + 0.3 * rng.standard_normal(60)
    r = np.eye(2)[rng.integers(0, 2, 60)]
    ridge, n = 0.05, 60
    rho = ridge * (psi**2).sum() / psi.size
    start = torch.from_numpy(r)[None, None]
    for steps in range(1, 6):
        model = Ridge(alpha=n * rho, fit_intercept=False)
        centres = [model.fit(psi, y, sample_weight=r[:, j]).coef_ for j in range(2)]
        residuals = y[:, None] - psi @ np.stack(centres).T
        variance = (r * residuals**2).sum() / n + rho * (np.stack(centres) ** 2).sum()
        fit = fit_mixture(
            torch.from_numpy(psi)[None], torch.from_numpy(y)[None], start, ridge=ridge, hard=True,
            max_iterations=steps, tolerance=-np.inf,
        )  # fmt: skip
        np.testing.assert_allclose(fit.theta[0, 0], centres, rtol=1e-8)
        np.testing.assert_allclose(fit.sigma[0, 0] ** 2, variance, rtol=1e-8)
        distance = residuals**2 / (2 * variance) - np.log(r.mean(0))
        r = np.eye(2)[distance.argmin(1)]


def test_an_empty_cluster_with_a_sigma_of_its_own_leaves_no_nan() -> None:
    psi, y, start = gaussians(3)
    start = torch.cat([start, torch.zeros(1, 1, 400, 1)], -1)
    fit = fit_mixture(psi, y, start, ridge=1e-3, each=True)
    for name in Mixture.names():
        assert bool(torch.isfinite(getattr(fit, name)).all()), name
    assert float(fit.weights[0, 0, 2]) == 0


def test_a_sum_of_losses_is_minimised_beside_the_same_penalty() -> None:
    data = random_problem(4)
    learned = found(data, 3)
    learned = replace(  # a third environment, without any point
        learned,
        **{
            p: torch.nn.functional.pad(getattr(learned, p), (0, 1)) for p in ("train", "validation")
        },
    )
    alpha = 0.7
    got = learn_directions(data, [learned], Invariance(alpha=[alpha], total="sum", ridge=0.0))
    for b in range(B):
        psi, y = data.reduced(b, 3)[0], data.target[b]
        theta = got.theta[b, 0, :3].clone().requires_grad_()
        r = learned.train[b, 0, :, :2]
        losses = [(r[:, e] * (psi @ theta - y) ** 2).sum() / r[:, e].sum() for e in range(2)]
        gradients = torch.stack(
            [torch.autograd.grad(loss, theta, create_graph=True)[0] for loss in losses]
        )
        unit = 1 / (psi**2).mean()
        objective = (
            sum(losses) + alpha * unit * ((gradients - gradients.mean(0)) ** 2).sum(1).mean()
        )
        (slope,) = torch.autograd.grad(objective, theta)
        assert float(slope.abs().max()) < 1e-9
