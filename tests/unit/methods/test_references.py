"""Least squares against the normal solution, and a network that cannot see colour."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from kerhrm.config.methods import ERM, LeastSquares
from kerhrm.features.mlp import init_mlp
from kerhrm.methods.erm import train_erm
from kerhrm.methods.references import train_grayscale, train_least_squares, without_colour
from kerhrm.methods.samples import Samples

SEEDS, D = (4, 9, 6), 4


def linear_fit(x: Tensor, y: Tensor, new: Tensor) -> np.ndarray:
    """Outputs at ``new`` of one seed's least-norm fit, an intercept apart, by LAPACK's gelsd."""
    x, y, new = x.double(), y.double(), new.double()
    centre = x.mean(0)
    slope = np.linalg.lstsq((x - centre).numpy(), (y - y.mean()).numpy(), rcond=1e-5)[0]
    return np.asarray(y.mean().numpy() + (new - centre).numpy() @ slope)


def least_squares(samples: Samples, x: Tensor) -> Tensor:
    mlp = init_mlp(samples.seeds, (samples.x.shape[-1], 3, 1))
    return train_least_squares(samples, mlp, LeastSquares())(x)


@pytest.mark.parametrize("n", [60, 4])  # more points than predictors, and fewer
def test_least_squares_by_another_solver(draw_samples: Callable[..., Samples], n: int) -> None:
    samples = draw_samples("regression", SEEDS, n=n, d=6)
    samples = replace(samples, y=samples.y + 3)
    new = torch.randn(len(SEEDS), 9, 6)
    for x in (samples.x, samples.x_validation, new):
        outputs = least_squares(samples, x)
        assert outputs.shape == x.shape[:-1]
        for b in range(len(SEEDS)):
            expected = linear_fit(samples.x[b], samples.y[b], x[b])
            np.testing.assert_allclose(outputs[b], expected, rtol=1e-7, atol=1e-7)


def test_residuals_are_orthogonal_to_all_predictors(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples("regression", SEEDS, n=60, d=D)
    residuals = samples.y.double() - least_squares(samples, samples.x)
    # outputs are rounded to single precision
    torch.testing.assert_close(residuals.mean(-1), torch.zeros(3).double(), rtol=0, atol=1e-7)
    products = samples.x.double().mT @ residuals.unsqueeze(-1)
    torch.testing.assert_close(products, torch.zeros_like(products), rtol=0, atol=1e-5)


def test_a_sum_of_predictors_changes_nothing(draw_samples: Callable[..., Samples]) -> None:
    """Collinear but for the rounding to single precision, which must not be fitted."""
    samples = draw_samples("regression", SEEDS, n=200, d=D)

    def add(x: Tensor) -> Tensor:
        total = (x[..., 0].double() + x[..., 1] / 3).float()
        return torch.cat([x, total.unsqueeze(-1), torch.full_like(x[..., :1], 7.0)], dim=-1)

    new = 3 * torch.randn(len(SEEDS), 50, D)
    outputs = least_squares(replace(samples, x=add(samples.x)), add(new))
    torch.testing.assert_close(outputs, least_squares(samples, new), rtol=1e-5, atol=1e-5)


def test_predictors_may_change_their_units(draw_samples: Callable[..., Samples]) -> None:
    samples = draw_samples("regression", SEEDS, n=60, d=D)
    scale, shift = torch.tensor([1.0, 8.0, 0.5, -2.0]), torch.tensor([1.0, -4.0, 0.0, 16.0])
    new = torch.randn(len(SEEDS), 9, D)
    outputs = least_squares(replace(samples, x=samples.x * scale + shift), new * scale + shift)
    torch.testing.assert_close(outputs, least_squares(samples, new), rtol=1e-5, atol=1e-5)


PIXELS = 9


def coloured(channel: Tensor, gray: Tensor) -> Tensor:
    """Images (B, n, 2 p) that hold ``gray`` (B, n, p) in one of two channels."""
    places = torch.stack([1 - channel, channel], dim=-1).unsqueeze(-1)
    return (places * gray.unsqueeze(-2)).flatten(-2)


def images(n: int) -> tuple[Tensor, Tensor, Tensor]:
    """Gray images, labels that their first pixel tells, and colours that tell them better."""
    y = torch.sign(torch.randn(len(SEEDS), n))
    gray = torch.rand(len(SEEDS), n, PIXELS)
    gray[..., 0] = (0.5 + 0.25 * y + 0.3 * torch.randn(y.shape)).clamp(0, 1)
    agrees = torch.rand(y.shape) < 0.95
    return gray, y, (torch.where(agrees, y, -y) > 0).float()


def image_samples() -> Samples:
    (gray, y, channel), (held_out, y_held_out, other) = images(80), images(40)
    return Samples(
        coloured(channel, gray), y, coloured(other, held_out), y_held_out, None, SEEDS,
        "classification",
    )  # fmt: skip


def test_both_channels_hold_the_gray_image() -> None:
    gray, _, channel = images(5)
    expected = torch.cat([gray, gray], dim=-1) / 2
    assert torch.equal(without_colour(coloured(channel, gray)), expected)
    assert torch.equal(without_colour(expected), expected)


def test_predictions_do_not_see_colour() -> None:
    samples, options = image_samples(), ERM(steps=30, learning_rate=1e-2)
    mlp = init_mlp(SEEDS, (2 * PIXELS, 16, 1))
    gray, _, channel = images(20)
    network = train_grayscale(samples, mlp, options)
    outputs = network(coloured(channel, gray))
    assert outputs.shape == (len(SEEDS), 20)
    assert torch.equal(network(coloured(1 - channel, gray)), outputs)
    # plain ERM does
    plain = train_erm(samples, mlp, options)
    change = plain(coloured(1 - channel, gray)) - plain(coloured(channel, gray))
    assert float(change.abs().mean()) > 0.1


def test_training_does_not_see_colour() -> None:
    """Neither the steps nor the choice of one by validation points."""
    samples, options = image_samples(), ERM(steps=30, learning_rate=1e-2, evaluate_every=1)
    mlp = init_mlp(SEEDS, (2 * PIXELS, 16, 1))
    swapped = replace(
        samples,
        x=samples.x.unflatten(-1, (2, -1)).flip(-2).flatten(-2),
        x_validation=samples.x_validation.unflatten(-1, (2, -1)).flip(-2).flatten(-2),
    )
    assert not torch.equal(swapped.x, samples.x)
    gray, _, channel = images(20)
    x = coloured(channel, gray)
    outputs = [train_grayscale(s, mlp, options)(x) for s in (samples, swapped)]
    assert torch.equal(*outputs)


def test_accuracy_is_the_same_whatever_the_colours() -> None:
    mlp, options = init_mlp(SEEDS, (2 * PIXELS, 16, 1)), ERM(steps=100, learning_rate=1e-2)
    network = train_grayscale(image_samples(), mlp, options)
    gray, y, _ = images(400)
    hits = [
        ((network(coloured((sign * y > 0).float(), gray)) > 0) == (y > 0)).double().mean(-1)
        for sign in (1, -1)
    ]
    assert torch.equal(*hits)
    assert bool((hits[0] > 0.65).all())
