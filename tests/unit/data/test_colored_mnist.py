"""Colored MNIST: labels, colours, which images are drawn, and what each part depends
on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from kerhrm_paper.data.colored_mnist import (
    ColoredMnistData,
    Digits,
    color,
    colour,
    generate,
)
from kerhrm_paper.data.draws import Draws, Split


def numbered(n_train: int, n_test: int, source: str = "mnist") -> Digits:
    """Images that carry their number in pixels that both resolutions keep, and a bright
    one."""
    random = np.random.default_rng(0)

    def images(n: int, part: int) -> np.ndarray:
        x = np.zeros((n, 28, 28), np.uint8)
        number = np.arange(n)
        x[:, 0, 0], x[:, 0, 2], x[:, 0, 4], x[:, 26, 26] = (
            number // 256,
            number % 256,
            part,
            255,
        )
        return x

    return Digits(
        images(n_train, 1),
        random.integers(0, 10, n_train).astype(np.uint8),
        images(n_test, 2),
        random.integers(0, 10, n_test).astype(np.uint8),
        source,
    )


DIGITS = numbered(12000, 5000)
SMALL: dict[str, Any] = {
    "n_per_environment": 40,
    "n_validation_per_environment": 30,
    "n_test": 50,
}


def made(seeds: Sequence[int], digits: Digits = DIGITS, **changed: Any) -> Draws:
    return generate(ColoredMnistData(**changed), seeds, digits)


def decode(split: Split, side: int = 14) -> tuple[np.ndarray, ...]:
    """Number, part and channel of every image."""
    x = split.x.reshape(*split.y.shape, 2, side, side)
    channel = (x[..., 1, :, :].sum(axis=(-1, -2)) > 0).astype(int)
    both = x.sum(axis=2)
    assert ((x > 0).any(axis=(-1, -2)).sum(axis=-1) == 1).all(), (
        "one channel holds the image"
    )
    step = side // 14
    byte = np.rint(both[..., 0, : 3 * step : step] * 255).astype(int)
    return byte[..., 0] * 256 + byte[..., 1], byte[..., 2], channel


def noisy(label_noise: float, **changed: Any) -> ColoredMnistData:
    return ColoredMnistData(label_noise=label_noise, **changed)


def assert_rate(hits: np.ndarray, rate: float) -> None:
    """The number of hits is likely (two-sided p above 1e-4) at this rate."""
    assert stats.binomtest(int(hits.sum()), hits.size, rate).pvalue > 1e-4


@pytest.mark.parametrize("side", [14, 28])
def test_label_noise_and_colours(side: int) -> None:
    data = made([0], side=side)
    for split, labels, flips in (
        (data.train, DIGITS.train_labels, (0.1, 0.2)),
        (data.validation, DIGITS.train_labels, (0.1, 0.2)),
        (data.test, DIGITS.test_labels, (0.9,)),
    ):
        number, _, channel = decode(split, side)
        clean = np.where(labels[number] >= 5, 1, -1)
        wrong = clean != split.y
        for environment, e in enumerate(flips):
            here = split.environment == environment
            contradicts = np.where(channel == 1, 1, -1) != split.y
            assert_rate(wrong[here], 0.2)
            assert_rate(contradicts[here], e)
            # The colour follows the noisy label: given it, the clean one says nothing
            # more.
            assert_rate(contradicts[here & wrong], e)
            assert_rate(contradicts[here & ~wrong], e)


def test_the_image_is_the_digit_in_one_channel() -> None:
    random = np.random.default_rng(1)
    images = random.integers(1, 256, (20, 28, 28)).astype(np.uint8)
    digit = np.arange(20) % 10
    for side, step in ((14, 2), (28, 1)):
        # Without noise: digits from 5 are +1 and lie in channel 1.
        x, y = color(
            np.random.default_rng(0), images, digit, 0.0, noisy(0.0, side=side)
        )
        for i in range(20):
            image = images[i, ::step, ::step].ravel() / 255
            empty = np.zeros(side**2)
            positive = digit[i] in (5, 6, 7, 8, 9)
            expected = np.concatenate([empty, image] if positive else [image, empty])
            assert_allclose(x[i], expected, rtol=1e-6)
            assert y[i] == (1 if positive else -1)
        _, opposite = color(
            np.random.default_rng(0), images, digit, 0.0, noisy(1.0, side=side)
        )
        assert_array_equal(opposite, -y)


def test_pooled_images_are_the_means_of_four_pixels() -> None:
    images = np.random.default_rng(1).integers(1, 256, (6, 28, 28)).astype(np.uint8)
    options = noisy(0.0, shrink="pool")
    x, _ = color(np.random.default_rng(0), images, np.full(6, 7), 0.0, options)
    for image, pooled in zip(images, x.reshape(6, 2, 14, 14)[:, 1], strict=True):
        means = [
            [image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean() for j in range(14)]
            for i in range(14)
        ]
        assert_allclose(pooled * 255, means, rtol=1e-5)


def test_a_clean_colour_follows_the_digit_and_not_its_noisy_label() -> None:
    n = 4000
    digit = np.random.default_rng(1).integers(0, 10, 4000)
    images = np.ones((n, 28, 28), np.uint8)
    for how, e in (("clean", 0.1), ("noisy", 0.1)):
        options = noisy(0.2, colour_of=how)
        x, y = color(np.random.default_rng(0), images, digit, e, options)
        shown = np.where(colour(x) == 1, 1, -1)
        clean = np.where(digit >= 5, 1, -1)
        followed, other = (clean, y) if how == "clean" else (y, clean)
        assert_rate(shown != followed, e)
        assert_rate(shown != other, 0.1 * 0.8 + 0.9 * 0.2)
        assert_rate(y != clean, 0.2)
    # the option moves neither labels nor draws
    labels = [
        color(np.random.default_rng(0), images, digit, 0.1, noisy(0.2, colour_of=how))[
            1
        ]
        for how in ("clean", "noisy")
    ]
    assert_array_equal(*labels)


@pytest.mark.parametrize("side", [14, 28])
def test_the_colour_is_the_channel_of_the_image(side: int) -> None:
    data = made([3, 7], **SMALL, side=side)
    for split in (data.train, data.validation, data.test):
        assert colour(split.x).shape == split.y.shape
        assert_array_equal(colour(split.x), decode(split, side)[2])
        assert set(np.unique(colour(split.x))) == {0, 1}


def test_images_are_drawn_once_and_from_the_right_part() -> None:
    data = made([0, 1])
    (train, part, _), (validation, part_v, _), (test, part_t, _) = (
        decode(split) for split in (data.train, data.validation, data.test)
    )
    assert (part == 1).all()
    assert (part_v == 1).all()
    assert (part_t == 2).all()
    for seed in (0, 1):
        assert len({*train[seed], *validation[seed]}) == 7000
        assert len({*test[seed]}) == 2500
    # Random, not the first of the file: the mean number is that of a uniform draw.
    assert abs(train.mean() - 5999.5) < 5 * 12000 / np.sqrt(12 * train.size)
    assert (np.sort(train[0]) != np.sort(train[1])).any()


def test_every_image_can_be_used() -> None:
    digits = numbered(140, 50)
    made([0], digits, **SMALL)
    full = {
        "n_per_environment": 25000,
        "n_validation_per_environment": 5000,
        "n_test": 10000,
    }
    ColoredMnistData(**full)
    for key, number in full.items():
        with pytest.raises(ValueError, match="MNIST has 60000"):
            ColoredMnistData(**full | {key: number + 1})


def test_images_of_a_fallback_repeat_where_there_are_too_few() -> None:
    data = made([0], numbered(1297, 500, "fallback:numbers"))
    assert data.source == "fallback:numbers"
    for split, n, available in ((data.train, 5000, 1297), (data.test, 2500, 500)):
        counts = np.unique(decode(split)[0][0], return_counts=True)[1]
        assert len(counts) == available
        assert {*counts.tolist()} <= {n // available, n // available + 1}
