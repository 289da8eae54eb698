"""EVaLS against scikit-learn, the conditions of a minimum, and selection by hand."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.testing import assert_close

from kerhrm import KerhrmError
from kerhrm.methods.afr import hold_out, train_erm_on
from kerhrm.methods.eiil import infer_environments
from kerhrm.methods.evals import (
    EVaLSOptions,
    candidates,
    extremes,
    lasso,
    train_evals,
)
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.irm import scale_gradient
from kerhrm.networks.modules import init_module

Draw = Callable[..., Inputs]
QUICK = {
    "learning_rate": 1e-2,
    "steps": 20,
    "inference_steps": 1000,
}


def points(n: int = 60, q: int = 8) -> tuple[Tensor, Tensor]:
    """Features of different scales, the last one constant, and labels."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n, q))
    exponents = rng.uniform(-2, 2, q)
    scales = 10.0**exponents
    z = z * scales + 3
    noise = rng.standard_normal(n)
    first = z[:, 0]
    signal = (first - 3) / first.std()
    y = np.sign(signal + noise)
    z[:, -1] = 5.0
    return torch.from_numpy(z), torch.from_numpy(y)


@pytest.mark.parametrize("l1", [0.001, 0.03, 0.1])
def test_the_last_layer_is_scikit_learn_s(l1: float) -> None:
    z, y = points()
    scaled = StandardScaler().fit_transform(z.numpy())
    model = LogisticRegression(
        l1_ratio=1.0,
        solver="saga",
        C=1 / (60 * l1),
        tol=1e-10,
        max_iter=100_000,
    )
    model.fit(scaled, y.numpy())
    v = lasso(z, y, l1)
    coefficients = v[:-1]
    outputs = z @ coefficients + v[-1]
    expected = model.decision_function(scaled)
    assert_allclose(outputs, expected, atol=1e-3)
    selected = (coefficients != 0).numpy()
    expected_selected = model.coef_[0] != 0
    assert (selected == expected_selected).all()


@pytest.mark.parametrize("n", [12, 60])
def test_no_coefficient_can_be_improved(n: int) -> None:
    """With more features than points, too: slopes are lambda, or below it at zero."""
    z, y = points(n, q=40)
    scale = z.std(0, correction=0)
    l1 = 0.02
    v = lasso(z, y, l1)
    coefficients = v[:-1]
    mean = z.mean(0)
    scaled = coefficients * scale
    standard = scaled.requires_grad_()
    level_at_mean = v[-1] + coefficients @ mean
    level = level_at_mean.requires_grad_()
    deviations = (z - mean) / scale
    design = torch.where(scale > 0, deviations, 0.0)
    outputs = design @ standard + level
    margins = y * outputs
    losses = nn.functional.softplus(-margins)
    risk = losses.mean()
    slopes, of_level = torch.autograd.grad(risk, [standard, level])
    fitted = standard.detach()
    zero = fitted == 0
    assert 0 < int(zero.sum()) < 40
    slopes_at_zero = slopes[zero]
    assert slopes_at_zero.abs().max() <= l1 + 1e-5
    fitted_elsewhere = fitted[~zero]
    expected = -l1 * fitted_elsewhere.sign()
    other_slopes = slopes[~zero]
    assert_close(other_slopes, expected, rtol=0, atol=1e-5)
    assert of_level.abs() < 1e-5


def test_a_large_penalty_leaves_the_share_of_the_labels() -> None:
    z, y = points()
    y[:40] = 1.0
    v = lasso(z, y, 10.0)
    coefficients = v[:-1]
    assert coefficients.tolist() == [0.0] * 8
    is_positive = (y > 0).double()
    share = float(is_positive.mean())
    level = torch.sigmoid(v[-1])
    probability = float(level)
    assert probability == pytest.approx(share, abs=1e-4)


def test_extremes_by_hand() -> None:
    losses = torch.tensor([5.0, 1.0, 4.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.4, 9.0])
    signs = [1.0] * 6 + [-1.0] * 4
    y = torch.tensor(signs)
    quarter = extremes(losses, y, 0.25)
    assert quarter.tolist() == [0, 5, 6, 9]
    half = extremes(losses, y, 0.5)
    assert half.tolist() == [0, 1, 2, 5, 6, 7, 8, 9]
    alone = torch.ones(10)
    tenth = extremes(losses, alone, 0.1)
    assert tenth.tolist() == [5, 9]
    order = torch.randperm(10)
    losses_in_order = losses[order]
    extremes_in_order = extremes(losses_in_order, y[order], 0.25)
    again = order[extremes_in_order]
    assert sorted(again.tolist()) == [0, 5, 6, 9]


def test_the_worse_inferred_environment_chooses(draw: Draw) -> None:
    inputs = draw(n=200, m=80, noise=2.0)
    options = EVaLSOptions(
        selected=[0.2, 0.5],
        l1=[0.01, 0.1],
        share=0.5,
        **QUICK,
    )
    fitted = train_evals(inputs, options)
    held_out = hold_out(inputs, 0.5, "evals")
    base = train_erm_on(inputs, ~held_out, options, "logistic")
    x = inputs.x_validation
    y = inputs.y_validation
    outputs = base(x)
    gradient = scale_gradient(outputs, y, "logistic")
    environment = infer_environments(
        gradient, inputs.seed, "evals-validation", steps=1000, rate=1e-2
    )
    assert fitted.environments is not None
    wrong = torch.sign(outputs) != y
    agrees = wrong == environment
    n_agreeing = int(agrees.sum())
    assert n_agreeing in (0, 80)
    environments = fitted.environments.argmax(1)
    environment_of_fit = environments[200:]
    assert torch.equal(environment_of_fit, wrong.long())

    worst = {}
    x_held_out = inputs.x[held_out]
    y_held_out = inputs.y[held_out]
    for candidate in candidates(base, x_held_out, y_held_out, options):
        outputs = candidate.network(x)
        right = torch.sign(outputs) == y
        accuracies = []
        for e in (0, 1):
            inside = environment == e
            right_inside = right[inside].double()
            accuracy = right_inside.mean()
            accuracies.append(float(accuracy))
        worst[candidate.selected, candidate.l1] = min(accuracies)
    selected = fitted.chosen["selected"]
    l1 = fitted.chosen["l1"]
    best = max(worst.values())
    assert worst[selected, l1] == best
    assert len(set(worst.values())) > 1

    only = EVaLSOptions(selected=selected, l1=l1, share=0.5, **QUICK)
    new = torch.randn(9, 4)
    predicted = fitted.predict(new)
    expected = predicted["model"]
    trained = train_evals(inputs, only)
    predicted = trained.predict(new)
    outputs = predicted["model"]
    assert_close(outputs, expected)


def test_networks_and_shares_that_do_not_fit_are_refused_in_one_line(
    draw: Draw,
) -> None:
    module = init_module("kerhrm.networks.modules:small_cnn", 0, 2 * 14 * 14)
    inputs = draw(n=10)
    inputs = replace(inputs, network=module)
    with refusal("last layer of a perceptron"):
        train_evals(inputs, EVaLSOptions())
    refused = ({"selected": [0.6]}, {"selected": []}, {"l1": [0.0]}, {"share": 1.0})
    for bad in refused:
        with pytest.raises(KerhrmError) as error:
            EVaLSOptions.parse(bad)
        assert "\n" not in str(error.value)
