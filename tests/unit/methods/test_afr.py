"""AFR against a softmax and an optimiser of PyTorch, and its limits."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import refusal
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor, nn
from torch.testing import assert_close

from kerhrm.errors import DataWarning
from kerhrm.methods.afr import (
    AFROptions,
    afr_weights,
    hold_out,
    solve,
    train_afr,
    train_erm_on,
)
from kerhrm.methods.inputs import Inputs
from kerhrm.methods.irm import PointLoss
from kerhrm.networks.last_layer import LastLayer
from kerhrm.networks.modules import init_module

Draw = Callable[..., Inputs]
each_loss = pytest.mark.parametrize("loss", ["squared", "logistic"])
QUICK = {"learning_rate": 1e-2, "steps": 20}


def retrained(inputs: Inputs, options: AFROptions) -> Tensor:
    """Outputs at the training points."""
    fitted = train_afr(inputs, options)
    return fitted.predict(inputs.x)["model"]


def parts(inputs: Inputs, options: AFROptions) -> tuple[LastLayer, Tensor, Tensor]:
    """ERM's last layer, and features and labels of the points held out."""
    held_out = hold_out(inputs, options.share, "afr")
    network = train_erm_on(inputs, ~held_out, options, options.loss)
    last = LastLayer.from_network(network)
    features = last.features(inputs.x[held_out])
    labels = inputs.y[held_out]
    return last, features, labels.double()


def test_a_network_is_its_last_layer_of_its_features(draw: Draw) -> None:
    every_depth = ((), (16,), (8, 6))
    for widths in every_depth:
        inputs = draw(n=40, widths=widths)
        last = LastLayer.from_network(inputs.network)
        features = last.features(inputs.x)
        outputs = features @ last.coefficients
        expected = inputs.network(inputs.x)
        assert_close(outputs.float(), expected)

        n_coefficients = len(last.coefficients)
        other = torch.arange(n_coefficients).double()
        outputs = features @ other
        expected = last.replaced(other)(inputs.x)
        assert_close(outputs.float(), expected)


@pytest.mark.parametrize("gamma", [0.0, 6.0])
@pytest.mark.parametrize("penalty", [0.02, 0.5])
def test_the_logistic_minimum_is_that_of_a_softmax_with_two_rows(
    draw: Draw, gamma: float, penalty: float
) -> None:
    """The authors' objective, by PyTorch's L-BFGS in double precision."""
    inputs = draw(n=100)
    options = AFROptions(
        gamma=gamma,
        penalty_weight=penalty,
        share=0.4,
        **QUICK,
    )
    last, z, y = parts(inputs, options)
    zeros = torch.zeros_like(last.coefficients)
    start = torch.stack([zeros, last.coefficients])
    label = (y > 0).long()
    probabilities = (z @ start.T).softmax(1)
    numbers = label[:, None]
    of_label = probabilities.gather(1, numbers)[:, 0]
    size_of_class = label.bincount()[label]
    balancing = len(y) / size_of_class
    weights = torch.exp(-gamma * of_label) * balancing
    weights = weights / weights.sum()

    rows = start.clone().requires_grad_()
    optimiser = torch.optim.LBFGS(
        [rows],
        max_iter=2000,
        tolerance_grad=1e-12,
        line_search_fn="strong_wolfe",
    )

    def objective() -> Tensor:
        optimiser.zero_grad()
        logits = z @ rows.T
        losses = nn.functional.cross_entropy(logits, label, reduction="none")
        squares = (rows - start) ** 2
        distance = squares.sum()
        total = weights @ losses + penalty * distance
        total.backward()
        return total

    optimiser.step(objective)
    negative, positive = rows.detach()
    difference = positive - negative
    # as the float32 weights of a network hold it
    held_network = LastLayer.from_network(last.network)
    expected = held_network.features(inputs.x) @ difference
    outputs = retrained(inputs, options)
    expected = expected.float()
    assert_close(outputs, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("gamma", [0.0, 6.0])
def test_the_closed_form_is_a_ridge_of_the_residuals(draw: Draw, gamma: float) -> None:
    """By scikit-learn; with gamma = 0 labels weigh equally."""
    inputs = draw(n=100)
    options = AFROptions(
        gamma=gamma,
        loss="squared",
        share=0.4,
        **QUICK,
    )
    last, z, y = parts(inputs, options)
    f = z @ last.coefficients
    sizes = []
    for label in y:
        sizes.append((y == label).sum())
    size_of_class = np.array(sizes)
    margins = (f * y).numpy()
    share = (1 + margins) / 2
    probability = np.clip(share, 0, 1)
    weights = np.exp(-gamma * probability) / size_of_class
    weights = weights / weights.sum()
    residuals = (y - f).numpy()
    alpha = options.penalty_weight / 2
    ridge = Ridge(alpha=alpha, fit_intercept=False)
    ridge.fit(z.numpy(), residuals, sample_weight=weights)
    change = torch.from_numpy(ridge.coef_)
    coefficients = last.coefficients + change
    expected = last.features(inputs.x) @ coefficients
    outputs = retrained(inputs, options)
    expected = expected.float()
    assert_close(outputs, expected, rtol=1e-4, atol=1e-4)


@each_loss
def test_a_strong_penalty_keeps_erm(draw: Draw, loss: PointLoss) -> None:
    inputs = draw(n=60)
    options = AFROptions(penalty_weight=1e9, loss=loss, **QUICK)
    last, *_ = parts(inputs, options)
    expected = last.network(inputs.x)
    outputs = retrained(inputs, options)
    assert_close(outputs, expected, rtol=1e-4, atol=1e-4)


def test_a_weak_penalty_forgets_erm(draw: Draw) -> None:
    """A logistic regression that starts elsewhere ends at the same boundary."""
    inputs = draw(n=400, m=10, noise=2.0, widths=(3,))
    options = AFROptions(
        gamma=0.0,
        penalty_weight=1e-7,
        share=0.5,
        **QUICK,
    )
    _, z, y = parts(inputs, options)
    no_outputs = torch.zeros_like(y)
    weights = afr_weights(no_outputs, y, 0.0, "logistic")
    varies = z.std(0) > 0
    kept = z[:, varies].numpy()
    model = LogisticRegression(C=1e7, tol=1e-12, max_iter=10_000)
    labels = y.numpy()
    model.fit(kept, labels, sample_weight=weights.numpy())
    held_out = hold_out(inputs, options.share, "afr")
    outputs = retrained(inputs, options)[held_out]
    expected = model.decision_function(kept)
    assert_allclose(outputs, expected, atol=2e-2)


@each_loss
def test_a_larger_gamma_serves_points_that_erm_predicts_poorly(
    draw: Draw, loss: PointLoss
) -> None:
    inputs = draw(n=200, noise=2.0)
    means = []
    for gamma in (0.0, 4.0, 20.0):
        options = AFROptions(
            gamma=gamma,
            loss=loss,
            share=0.5,
            penalty_weight=1e-3,
            **QUICK,
        )
        last, z, y = parts(inputs, options)
        f = z @ last.coefficients
        is_wrong = f * y < 0
        held_out = hold_out(inputs, options.share, "afr")
        outputs = retrained(inputs, options)[held_out]
        margins = outputs * y
        mean = margins[is_wrong].mean()
        means.append(float(mean))
    assert means == sorted(means)
    assert means[2] > means[0] + 0.1


@each_loss
def test_points_have_no_order(loss: PointLoss) -> None:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((50, 6))
    z = torch.from_numpy(features)
    labels = rng.choice([-1.0, 1.0], 50)
    y = torch.from_numpy(labels)
    start = torch.from_numpy(rng.standard_normal(6))
    order = torch.from_numpy(rng.permutation(50))

    def change(z: Tensor, y: Tensor) -> Tensor:
        outputs = z @ start
        weights = afr_weights(outputs, y, 3.0, loss)
        return solve(z, y, weights, start, penalty=0.1, loss=loss)

    permuted = change(z[order], y[order])
    assert_close(permuted, change(z, y))


def test_separable_points_and_large_outputs_have_a_minimum() -> None:
    """Where plain Newton steps would overshoot."""
    features = [
        [100.0, 1.0],
        [-100.0, 1.0],
        [3.0, 1.0],
    ]
    z = torch.tensor(features).double()
    y = torch.tensor([1.0, -1.0, -1.0]).double()
    start = torch.tensor([-50.0, 7.0]).double()
    weights = torch.full((3,), 1 / 3).double()
    change = solve(
        z,
        y,
        weights,
        start,
        penalty=1e-3,
        loss="logistic",
    )
    change.requires_grad_()
    outputs = z @ (start + change)
    losses = nn.functional.softplus(-y * outputs)
    penalty = 1e-3 / 2 * change @ change
    total = weights @ losses + penalty
    (slope,) = torch.autograd.grad(total, change)
    assert slope.abs().max() < 1e-5


@pytest.mark.filterwarnings("ignore:the method")
@pytest.mark.parametrize("share", [0.001, 0.3, 0.999])
def test_neither_part_is_empty(draw: Draw, share: float) -> None:
    inputs = draw(n=10)
    held_out = hold_out(inputs, share, "afr")
    n_held_out = int(held_out.sum())
    assert 0 < n_held_out < 10
    half = hold_out(inputs, 0.5, "afr")
    other_seed = replace(inputs, seed=8)
    half_of_other_seed = hold_out(other_seed, 0.5, "afr")
    assert not torch.equal(half_of_other_seed, half)


def test_a_network_without_layers_is_refused_in_one_line(draw: Draw) -> None:
    module = init_module("kerhrm.networks.modules:small_cnn", 0, 2 * 14 * 14)
    inputs = replace(draw(n=10), network=module)
    with refusal("last layer of a perceptron") as error:
        train_afr(inputs, AFROptions())
    assert "\n" not in str(error.value)


def test_a_part_with_one_label_is_told(draw: Draw) -> None:
    inputs = draw(n=40)
    labels = torch.ones(40)
    labels[0] = -1.0
    rare = replace(inputs, y=labels)
    held_out = hold_out(inputs, 0.2, "afr")
    alone = "holds out" if not held_out[0] else "trains on first"
    with pytest.warns(DataWarning, match=f"method {alone} rows of one label alone"):
        assert torch.equal(hold_out(rare, 0.2, "afr"), held_out)
