"""KerHRM with an auxiliary variable, and ZIN."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from torch.testing import assert_close

from kerhrm import KerHRMOptions, NetworkOptions, NTFMap, Problem, build
from kerhrm.heterogeneity import auxiliary
from kerhrm.heterogeneity.auxiliary import covariance_measure
from kerhrm.heterogeneity.result import HeterogeneityResult
from kerhrm.methods import zin
from kerhrm.methods.auxiliary import AuxiliaryOptions, fit_auxiliary, train_auxiliary
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.zin import ZINOptions, train_zin
from kerhrm_paper.data.registry import generate

Draw = Callable[..., Inputs]
OPTIONS = AuxiliaryOptions(k=[11])


def temporal(
    low: float, high: float, seed: int = 0, n: int = 2000
) -> tuple[Inputs, NTFMap, dict]:
    """Inputs of one seed, its features, and the tensors (x, y) of every part."""
    options = {
        "low": low,
        "high": high,
        "n_train": n,
        "n_test": 500,
    }
    data = generate("temporal", options, [seed])
    tensors = {}
    for name in ("train", "validation", "test"):
        part = getattr(data, name)
        x = torch.from_numpy(part.x[0])
        y = torch.from_numpy(part.y[0])
        tensors[name] = (x, y)
    x, y = tensors["train"]
    x_validation, y_validation = tensors["validation"]
    linear = NetworkOptions(widths=[])
    network = build(linear, seed, 10)
    features = NTFMap.fit(network, x, 11)
    problem = Problem.from_features(
        features, x_validation, y, y_validation, "classification", seed
    )
    inputs = Inputs(
        x,
        y,
        x_validation,
        y_validation,
        "classification",
        seed,
        network,
        problem=problem,
        auxiliary=torch.from_numpy(data.train.auxiliary[0]),
        auxiliary_validation=torch.from_numpy(data.validation.auxiliary[0]),
    )
    return inputs, features, tensors


def test_time_tells_which_features_are_spurious() -> None:
    inputs, features, tensors = temporal(0.999, 0.7)
    fitted = train_auxiliary(inputs, OPTIONS)
    x, y = tensors["test"]
    psi, f0 = features.transform(x)
    outputs = fitted.predict(x, psi, f0)
    right = (outputs["linear"] > 0) == (y > 0)
    accuracy = right.double().mean()
    assert accuracy > 0.86  # S alone: 0.89, ERM: 0.78
    assert fitted.chosen["p_value"] == 0.01
    assert fitted.environments is not None
    in_order_of_time = inputs.auxiliary[:, 0].argsort()
    of_training = fitted.environments[:2000]
    memberships = of_training[in_order_of_time]
    halves = memberships[:, 0].round()
    late = halves[1100:]
    late_environment = late.mean().round()
    differs = halves[:900] != late_environment
    assert differs.double().mean() > 0.9


def test_a_network_is_trained_along_the_direction() -> None:
    inputs, features, tensors = temporal(0.999, 0.7)
    how = KerHRMOptions(
        cosine_weight=[1e4],
        steps=400,
        check_every=None,
        learning_rate=1e-2,
    )
    options = OPTIONS.model_copy(update={"training": how})
    fitted = train_auxiliary(inputs, options)
    x, _ = tensors["test"]
    psi, f0 = features.transform(x)
    outputs = fitted.predict(x, psi, f0)
    network = outputs["network"].detach().double()
    linear = outputs["linear"].detach().double()
    f0 = inputs.network(x).detach().double()
    changes = torch.stack([network - f0, linear - f0])
    correlation = torch.corrcoef(changes)
    assert float(correlation[0, 1]) > 0.99
    assert fitted.chosen["cosine_weight"] == 1e4


def test_without_change_it_is_erm() -> None:
    inputs, _, _ = temporal(0.9, 0.9)
    problem = inputs.require_problem()
    z = inputs.auxiliary.numpy()
    z_validation = inputs.auxiliary_validation.numpy()
    fit = fit_auxiliary(problem, inputs.x, z, z_validation, OPTIONS)
    assert fit.result is not None
    assert fit.result.homogeneous
    assert fit.direction.iteration == 0
    assert fit.iteration is None
    memberships = fit.environments_of(z_validation)
    assert memberships.shape == (1000, 1)
    psi = problem.psi_train
    least_squares = torch.linalg.lstsq(psi, problem.target)
    theta = fit.direction.theta
    assert_close(theta, least_squares.solution, rtol=0, atol=1e-4)


NOTHING_CHANGES: dict[str, Any] = {
    "linear": lambda x, t, e: x[:, 0] + e,
    "noise depends on z": lambda x, t, e: x[:, 0] + (0.3 + 2 * t) * e,
    "noise depends on x": lambda x, t, e: x[:, 0] + np.abs(x[:, 0]) * e,
    "square": lambda x, t, e: x[:, 0] ** 2 + x[:, 1] + e,
    "labels": lambda x, t, e: np.sign(x[:, 0] + x[:, 1] + e),
    "labels of a wave": lambda x, t, e: np.sign(np.sin(2 * x[:, 0]) + e),
}


def measured(kind: Any, seed: int, n: int = 200) -> HeterogeneityResult:
    """Five regions of Z move the first input."""
    random = np.random.default_rng(seed)
    t = random.random(n)
    x = random.standard_normal((n, 3))
    x[:, 0] += 3 * t
    noise = random.standard_normal(n)
    y = kind(x, t, noise)
    regions = (5 * t).astype(np.int64)
    arrays = map(torch.from_numpy, (x, y, regions))
    return covariance_measure(*arrays, AuxiliaryOptions())


@pytest.mark.parametrize("kind", NOTHING_CHANGES)
def test_features_that_drift_are_no_environments(kind: str) -> None:
    draw = NOTHING_CHANGES[kind]
    n_detected = 0
    for seed in range(60):
        n_detected += measured(draw, seed).detected
    assert n_detected <= 8  # 5 % of 60, and 3 standard deviations


def turns(x: np.ndarray, t: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The slope of the second input turns when z exceeds 0.6."""
    slope = np.where(t > 0.6, -1.0, 1.0)
    turned = slope * x[:, 1]
    return turned + x[:, 0] ** 2 + e


def test_a_function_that_changes_is_seen() -> None:
    for seed in range(5):
        result = measured(turns, seed, n=400)
        assert result.detected

    def labels(*parts: np.ndarray) -> np.ndarray:
        y = turns(*parts)
        return np.sign(y - 3.5)

    for seed in range(5):
        result = measured(labels, seed, n=600)
        assert result.detected


def test_a_change_of_the_constant_is_told_apart() -> None:
    def level(x: np.ndarray, t: np.ndarray, e: np.ndarray) -> np.ndarray:
        constant = np.where(t > 0.6, 1.0, 0.0)
        signal = x[:, 1] + x[:, 0] ** 2
        return signal + e + constant

    n_of_constant = 0
    for seed in range(5):
        of_level = measured(level, seed, n=400)
        of_slope = measured(turns, seed, n=400)
        assert of_level.detected
        assert not of_slope.constant_only
        n_of_constant += of_level.constant_only
    assert n_of_constant >= 3


def test_a_cell_of_one_row_hides_nothing() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((170, 2))
    cells = random.integers(0, 3, 170)
    slope = np.where(cells == 0, -2, 2)
    noise = 0.5 * random.normal(size=170)
    signal = x[:, 0] + slope * x[:, 1]
    y = signal + noise
    cells[5] = 3
    cells[7] = 4
    inputs = torch.from_numpy(x)
    target = torch.from_numpy(y)
    options = AuxiliaryOptions()
    cells_of_rows = torch.from_numpy(cells)
    result = covariance_measure(inputs, target, cells_of_rows, options)
    assert result.p_value == 0.01
    pairs = torch.arange(170) // 2
    result_of_pairs = covariance_measure(inputs, target, pairs, options)
    assert np.isnan(result_of_pairs.p_value)


def test_a_weight_of_two_is_a_row_twice() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((300, 2))
    t = random.random(300)
    slope = np.where(t > 0.5, -1.0, 1.0)
    noise = random.standard_normal(300)
    y = slope * x[:, 1] + noise
    regions = (5 * t).astype(np.int64)
    arrays = (x, y, regions)
    parts = [torch.from_numpy(array) for array in arrays]
    options = AuxiliaryOptions()
    weights = torch.ones(300, dtype=torch.float64)
    plain = covariance_measure(*parts, options)
    doubled = covariance_measure(*parts, options, 2 * weights)
    assert doubled.gain == pytest.approx(plain.gain)

    is_early = torch.from_numpy(t < 0.5)
    weights_of_early = 0.001 + weights * is_early
    of_early = covariance_measure(*parts, options, weights_of_early)
    assert plain.detected
    assert not of_early.detected


def test_zin_infers_the_largest_penalty(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an own loop of automatic derivatives, with an auxiliary variable near the
    environment."""
    inputs = draw("classification", 3, n=400, m=50)
    generator = torch.manual_seed(0)
    noise = 0.1 * torch.randn(400, generator=generator)
    z = (inputs.environments + noise)[:, None]
    z_validation = inputs.environments_validation[:, None].float()
    inputs = replace(inputs, auxiliary=z, auxiliary_validation=z_validation)
    given = []
    train_on = zin.train_on

    def watched(means: torch.Tensor, continued: Inputs, *options: Any) -> Any:
        given.append((means, continued))
        return train_on(means, continued, *options)

    monkeypatch.setattr(zin, "train_on", watched)
    options = ZINOptions(
        steps=30,
        reference_steps=60,
        inference_steps=600,
        inference_rate=2e-2,
    )
    fitted = train_zin(inputs, options)
    means, continued = given[0]
    rho = fitted.environments[:400, 0]
    expected = torch.ones(2)
    assert_close(means.sum(-1), expected)

    def penalty(rho: torch.Tensor) -> float:
        outputs = continued.network(inputs.x)
        total = 0.0
        for weight in (rho, 1 - rho):
            s = torch.ones((), requires_grad=True)
            f = s * outputs.detach()
            margins = inputs.y * f
            losses = torch.nn.functional.softplus(-margins)
            risk = (weight * losses).mean()
            (slope,) = torch.autograd.grad(risk, s)
            total += float(slope) ** 2
        return total / 2

    found = penalty(rho)
    of_equal_shares = penalty(torch.full_like(rho, 0.5))
    assert found > 1.02 * of_equal_shares
    of_thresholds = []
    for cut in np.linspace(0, 1, 21):
        is_below = z[:, 0] < cut
        below = is_below.float()
        above = (~is_below).float()
        of_thresholds += [penalty(below), penalty(above)]
    assert found >= 0.9 * max(of_thresholds)  # as large as the best threshold on z
    torch.manual_seed(1)
    again = train_zin(inputs, options)
    outputs = fitted.networks["model"](inputs.x)
    outputs_again = again.networks["model"](inputs.x)
    assert torch.equal(outputs_again, outputs)


def test_refused() -> None:
    inputs, _, _ = temporal(0.9, 0.8, n=200)
    without_auxiliary = replace(inputs, auxiliary=None)
    with refusal("needs an auxiliary variable"):
        train_auxiliary(without_auxiliary, OPTIONS)
    with refusal("needs an auxiliary variable"):
        train_zin(without_auxiliary, ZINOptions())
    problem = inputs.require_problem()
    z = inputs.auxiliary.numpy()
    three_rows = z[:3]
    with refusal("3 rows for 200 points"):
        fit_auxiliary(problem, inputs.x, three_rows, z, OPTIONS)
    held_out = inputs.auxiliary_validation.numpy()
    too_many = AuxiliaryOptions(k=[12])
    with refusal("k=12 exceeds the 11"):
        fit_auxiliary(problem, inputs.x, z, held_out, too_many)


def test_draws_in_blocks_are_the_same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a tiny level takes no more memory."""
    whole = measured(turns, 0)
    monkeypatch.setattr(auxiliary, "MOST_DRAWS", 40)
    in_blocks = measured(turns, 0)
    assert len(in_blocks.null) == 99
    assert_allclose(in_blocks.null, whole.null, rtol=1e-10)
    assert in_blocks.p_value == whole.p_value
    sizes = [len(signs) for signs in auxiliary._signs(5, 99)]
    assert sizes == [41, 40, 19]


def test_a_column_that_is_constant_in_training_keeps_its_unit() -> None:
    train = torch.tensor([[3.0, 1.0], [3.0, 3.0]])
    validation = torch.tensor([[5.0, 2.0]])
    of_train, of_validation = zin._standardised(train, validation)
    root = 0.5**0.5
    assert_close(of_train, torch.tensor([[0.0, -root], [0.0, root]]))
    assert_close(of_validation, torch.tensor([[2.0, 0.0]]))
