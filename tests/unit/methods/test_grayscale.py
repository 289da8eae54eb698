"""The perfect invariant model: a network that cannot see colour."""

from dataclasses import replace

import torch
from torch import Tensor

from kerhrm.data.samples import Samples
from kerhrm.methods.erm.options import ERM
from kerhrm.methods.erm.train import train_erm
from kerhrm.methods.grayscale.train import train_grayscale, without_colour
from kerhrm.networks.mlp import init_mlp

SEEDS = (4, 9, 6)
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
    (network,) = train_grayscale(samples, mlp, options, [30])
    outputs = network(coloured(channel, gray))
    assert outputs.shape == (len(SEEDS), 20)
    assert torch.equal(network(coloured(1 - channel, gray)), outputs)
    # plain ERM does
    (plain,) = train_erm(samples, mlp, options, [30])
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
    outputs = [train_grayscale(s, mlp, options, [30])[0](x) for s in (samples, swapped)]
    assert torch.equal(*outputs)


def test_accuracy_is_the_same_whatever_the_colours() -> None:
    mlp, options = init_mlp(SEEDS, (2 * PIXELS, 16, 1)), ERM(steps=100, learning_rate=1e-2)
    (network,) = train_grayscale(image_samples(), mlp, options, [100])
    gray, y, _ = images(400)
    hits = [
        ((network(coloured((sign * y > 0).float(), gray)) > 0) == (y > 0)).double().mean(-1)
        for sign in (1, -1)
    ]
    assert torch.equal(*hits)
    assert bool((hits[0] > 0.65).all())
