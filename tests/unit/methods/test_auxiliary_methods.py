"""KerHRM with an auxiliary variable, and ZIN."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from kerhrm import KerhrmError, KerHRMOptions, NetworkOptions, NTFMap, Problem, build
from kerhrm.heterogeneity.auxiliary import covariance_measure
from kerhrm.heterogeneity.test import HeterogeneityResult
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
    data = generate(
        "temporal", {"low": low, "high": high, "n_train": n, "n_test": 500}, [seed]
    )
    parts = {"train": data.train, "validation": data.validation, "test": data.test}
    tensors = {
        name: [torch.from_numpy(a[0]) for a in (p.x, p.y)] for name, p in parts.items()
    }
    z = torch.from_numpy(data.train.auxiliary[0])
    z_validation = torch.from_numpy(data.validation.auxiliary[0])
    network = build(NetworkOptions(widths=[]), seed, 10)
    (x, y), (x_validation, y_validation) = tensors["train"], tensors["validation"]
    features = NTFMap.fit(network, x, 11)
    one = Problem.from_features(
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
        problem=one,
        auxiliary=z,
        auxiliary_validation=z_validation,
    )
    return inputs, features, tensors


def test_time_tells_which_features_are_spurious() -> None:
    inputs, features, tensors = temporal(0.999, 0.7)
    fitted = train_auxiliary(inputs, OPTIONS)
    x, y = tensors["test"]
    right = (fitted.predict(x, *features.transform(x))["linear"] > 0) == (y > 0)
    assert float(right.double().mean()) > 0.86  # S alone: 0.89, ERM: 0.78
    assert fitted.chosen["p_value"] == 0.01
    assert fitted.environments is not None
    halves = fitted.environments[:2000][inputs.auxiliary[:, 0].argsort()][:, 0].round()
    assert float((halves[:900] != halves[1100:].mean().round()).double().mean()) > 0.9


def test_a_network_is_trained_along_the_direction() -> None:
    inputs, features, tensors = temporal(0.999, 0.7)
    how = KerHRMOptions(
        cosine_weight=[1e4], steps=400, check_every=None, learning_rate=1e-2
    )
    fitted = train_auxiliary(inputs, OPTIONS.model_copy(update={"training": how}))
    x, _ = tensors["test"]
    outputs = fitted.predict(x, *features.transform(x))
    network = outputs["network"].detach().double()
    linear = outputs["linear"].detach().double()
    f0 = inputs.network(x).detach().double()
    assert float(torch.corrcoef(torch.stack([network - f0, linear - f0]))[0, 1]) > 0.99
    assert fitted.chosen["cosine_weight"] == 1e4


def test_without_change_it_is_erm() -> None:
    inputs, _, _ = temporal(0.9, 0.9)
    parts = inputs.auxiliary.numpy(), inputs.auxiliary_validation.numpy()
    fit = fit_auxiliary(inputs.require_problem(), inputs.x, *parts, OPTIONS)
    assert fit.result is not None
    assert fit.result.homogeneous
    assert (fit.direction.iteration, fit.iteration) == (0, None)
    assert fit.environments_of(parts[1]).shape == (1000, 1)
    problem = inputs.require_problem()
    least_squares = torch.linalg.lstsq(problem.psi_train, problem.target).solution
    assert_close(fit.direction.theta, least_squares, rtol=0, atol=1e-4)


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
    y = kind(x, t, random.standard_normal(n))
    cells = torch.from_numpy((5 * t).astype(np.int64))
    return covariance_measure(
        torch.from_numpy(x), torch.from_numpy(y), cells, AuxiliaryOptions()
    )


@pytest.mark.parametrize("kind", NOTHING_CHANGES)
def test_features_that_drift_are_no_environments(kind: str) -> None:
    found = sum(measured(NOTHING_CHANGES[kind], seed).detected for seed in range(60))
    assert found <= 8  # 5 % of 60, and 3 standard deviations


def turns(x: np.ndarray, t: np.ndarray, e: np.ndarray) -> np.ndarray:
    return np.where(t > 0.6, -1.0, 1.0) * x[:, 1] + x[:, 0] ** 2 + e


def test_a_function_that_changes_is_seen() -> None:
    assert all(measured(turns, seed, n=400).detected for seed in range(5))

    def labels(*parts: np.ndarray) -> np.ndarray:
        return np.sign(turns(*parts) - 3.5)

    assert all(measured(labels, seed, n=600).detected for seed in range(5))


def test_a_change_of_the_constant_is_told_apart() -> None:
    def level(x: np.ndarray, t: np.ndarray, e: np.ndarray) -> np.ndarray:
        return x[:, 1] + x[:, 0] ** 2 + e + np.where(t > 0.6, 1.0, 0.0)

    found = [measured(level, seed, n=400) for seed in range(5)]
    assert all(result.detected for result in found)
    assert sum(result.constant_only for result in found) >= 3
    assert not any(measured(turns, s, n=400).constant_only for s in range(5))


def test_a_cell_of_one_row_hides_nothing() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((170, 2))
    cells = random.integers(0, 3, 170)
    y = x[:, 0] + np.where(cells == 0, -2, 2) * x[:, 1] + 0.5 * random.normal(size=170)
    cells[[5, 7]] = 3, 4
    parts = [torch.from_numpy(part) for part in (x, y, cells)]
    assert covariance_measure(*parts, AuxiliaryOptions()).p_value == 0.01
    each = torch.arange(170) // 2
    assert np.isnan(covariance_measure(*parts[:2], each, AuxiliaryOptions()).p_value)


def test_a_weight_of_two_is_a_row_twice() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((300, 2))
    t = random.random(300)
    y = np.where(t > 0.5, -1.0, 1.0) * x[:, 1] + random.standard_normal(300)
    parts = [torch.from_numpy(part) for part in (x, y, (5 * t).astype(np.int64))]
    weights = torch.ones(300, dtype=torch.float64)
    plain = covariance_measure(*parts, AuxiliaryOptions())
    same = covariance_measure(*parts, AuxiliaryOptions(), 2 * weights)
    assert same.gain == pytest.approx(plain.gain)
    before = 0.001 + weights * torch.from_numpy(t < 0.5)
    assert plain.detected
    assert not covariance_measure(*parts, AuxiliaryOptions(), before).detected


def test_zin_infers_the_largest_penalty(
    draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By an own loop of automatic derivatives, with an auxiliary variable near the
    environment."""
    inputs = draw("classification", 3, n=400, m=50)
    noise = 0.1 * torch.randn(400, generator=torch.manual_seed(0))
    z = (inputs.environments + noise)[:, None]
    z_validation = inputs.environments_validation[:, None].float()
    inputs = replace(inputs, auxiliary=z, auxiliary_validation=z_validation)
    given = []
    train_on = zin.train_on
    monkeypatch.setattr(
        zin, "train_on", lambda m, i, *o: given.append((m, i)) or train_on(m, i, *o)
    )
    options = ZINOptions(
        steps=30, reference_steps=60, inference_steps=600, inference_rate=2e-2
    )
    fitted = train_zin(inputs, options)
    (means, continued), rho = given[0], fitted.environments[:400, 0]
    assert_close(means.sum(-1), torch.ones(2))

    def penalty(rho: torch.Tensor) -> float:
        total = 0.0
        for weight in (rho, 1 - rho):
            s = torch.ones((), requires_grad=True)
            f = s * continued.network(inputs.x).detach()
            risk = (weight * torch.nn.functional.softplus(-inputs.y * f)).mean()
            total += float(torch.autograd.grad(risk, s)[0]) ** 2
        return total / 2

    assert penalty(rho) > 1.02 * penalty(torch.full_like(rho, 0.5))
    at = [
        penalty((z[:, 0] < cut).float() if below else (z[:, 0] >= cut).float())
        for cut in np.linspace(0, 1, 21)
        for below in (True, False)
    ]
    assert penalty(rho) >= 0.9 * max(at)  # as large as the best threshold on z
    torch.manual_seed(1)
    again = train_zin(inputs, options)
    assert torch.equal(
        again.networks["model"](inputs.x), fitted.networks["model"](inputs.x)
    )


def test_refused() -> None:
    inputs, _, _ = temporal(0.9, 0.8, n=200)
    for train, options in ((train_auxiliary, OPTIONS), (train_zin, ZINOptions())):
        with pytest.raises(KerhrmError, match="needs an auxiliary variable"):
            train(replace(inputs, auxiliary=None), options)
    problem = inputs.require_problem()
    z = inputs.auxiliary.numpy()
    with pytest.raises(KerhrmError, match="3 rows for 200 points"):
        fit_auxiliary(problem, inputs.x, z[:3], z, OPTIONS)
    held_out = inputs.auxiliary_validation.numpy()
    with pytest.raises(KerhrmError, match="k=12 exceeds the 11"):
        fit_auxiliary(problem, inputs.x, z, held_out, AuxiliaryOptions(k=[12]))
