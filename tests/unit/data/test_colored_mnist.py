"""Colored MNIST: labels, colours, which images are drawn, and what each part depends
on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from drawtools import assert_rate
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from kerhrm_paper.data.colored_mnist import (
    ColoredMnistData,
    channel_of,
    generate,
    label_and_paint,
)
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.data.mnist import Digits


def numbered(n_train: int, n_test: int, source: str = "mnist") -> Digits:
    """Images that carry their number in pixels that both resolutions keep, and a bright
    one."""
    random = np.random.default_rng(0)

    def images(n: int, part: int) -> np.ndarray:
        x = np.zeros((n, 28, 28), np.uint8)
        number = np.arange(n)
        x[:, 0, 0] = number // 256
        x[:, 0, 2] = number % 256
        x[:, 0, 4] = part
        x[:, 26, 26] = 255
        return x

    def digits(n: int) -> np.ndarray:
        numbers = random.integers(0, 10, n)
        return numbers.astype(np.uint8)

    return Digits(
        images(n_train, 1),
        digits(n_train),
        images(n_test, 2),
        digits(n_test),
        source,
    )


DIGITS = numbered(12000, 5000)
SMALL: dict[str, Any] = {
    "n_per_environment": 40,
    "n_validation_per_environment": 30,
    "n_test": 50,
}


def made(seeds: Sequence[int], digits: Digits = DIGITS, **changed: Any) -> Draws:
    options = ColoredMnistData(**changed)
    return generate(options, seeds, digits)


def decode(split: Split, side: int = 14) -> tuple[np.ndarray, ...]:
    """Number, part and channel of every image."""
    n_seeds, n_images = split.y.shape
    x = split.x.reshape(n_seeds, n_images, 2, side, side)
    is_bright = x > 0
    is_lit = is_bright.any(axis=(-1, -2))
    n_lit = is_lit.sum(axis=-1)
    assert (n_lit == 1).all(), "one channel holds the image"
    channel = is_lit[..., 1].astype(int)
    step = side // 14
    both_channels = x.sum(axis=2)
    ends_at = 3 * step
    first_row = both_channels[..., 0, :ends_at:step]
    byte = np.rint(first_row * 255).astype(int)
    high = byte[..., 0]
    number = high * 256 + byte[..., 1]
    part = byte[..., 2]
    return number, part, channel


def noisy(label_noise: float, **changed: Any) -> ColoredMnistData:
    return ColoredMnistData(label_noise=label_noise, **changed)


def of_seed_0(
    images: np.ndarray, digit: np.ndarray, rate: float, options: ColoredMnistData
) -> tuple[np.ndarray, np.ndarray]:
    """Coloured images and labels."""
    random = np.random.default_rng(0)
    return label_and_paint(random, images, digit, rate, options)


@pytest.mark.parametrize("side", [14, 28])
def test_label_noise_and_colours(side: int) -> None:
    data = made([0], side=side)
    labels_of_training = DIGITS.train_labels
    for split, labels, flips in (
        (data.train, labels_of_training, (0.1, 0.2)),
        (data.validation, labels_of_training, (0.1, 0.2)),
        (data.test, DIGITS.test_labels, (0.9,)),
    ):
        number, _, channel = decode(split, side)
        digit = labels[number]
        clean = np.where(digit >= 5, 1, -1)
        wrong = clean != split.y
        shown_label = np.where(channel == 1, 1, -1)
        contradicts = shown_label != split.y
        for environment, rate in enumerate(flips):
            here = split.environment == environment
            assert_rate(wrong[here], 0.2)
            assert_rate(contradicts[here], rate)
            # The colour follows the noisy label: given it, the clean one says nothing
            # more.
            assert_rate(contradicts[here & wrong], rate)
            assert_rate(contradicts[here & ~wrong], rate)


def test_the_image_is_the_digit_in_one_channel() -> None:
    random = np.random.default_rng(1)
    grey = random.integers(1, 256, (20, 28, 28))
    images = grey.astype(np.uint8)
    digit = np.arange(20) % 10
    steps = {14: 2, 28: 1}
    for side, step in steps.items():
        # Without noise: digits from 5 are +1 and lie in channel 1.
        without_noise = noisy(0.0, side=side)
        x, y = of_seed_0(images, digit, 0.0, without_noise)
        empty = np.zeros(side**2)
        for i in range(20):
            shrunk = images[i, ::step, ::step]
            image = shrunk.ravel() / 255
            positive = digit[i] >= 5
            channels = [empty, image] if positive else [image, empty]
            expected = np.concatenate(channels)
            assert_allclose(x[i], expected, rtol=1e-6)
            assert y[i] == (1 if positive else -1)
        all_flipped = noisy(1.0, side=side)
        _, opposite = of_seed_0(images, digit, 0.0, all_flipped)
        assert_array_equal(opposite, -y)


def test_pooled_images_are_the_means_of_four_pixels() -> None:
    random = np.random.default_rng(1)
    grey = random.integers(1, 256, (6, 28, 28))
    images = grey.astype(np.uint8)
    sevens = np.full(6, 7)
    options = noisy(0.0, shrink="pool")
    x, _ = of_seed_0(images, sevens, 0.0, options)
    by_channel = x.reshape(6, 2, 14, 14)
    second_channel = by_channel[:, 1]
    for image, pooled in zip(images, second_channel, strict=True):
        for i in range(14):
            for j in range(14):
                rows = slice(2 * i, 2 * i + 2)
                columns = slice(2 * j, 2 * j + 2)
                four = image[rows, columns]
                byte = pooled[i, j] * 255
                mean = four.mean()
                assert_allclose(byte, mean, rtol=1e-5)


def test_a_clean_colour_follows_the_digit_and_not_its_noisy_label() -> None:
    n = 4000
    rng = np.random.default_rng(1)
    digit = rng.integers(0, 10, n)
    images = np.ones((n, 28, 28), np.uint8)
    clean = np.where(digit >= 5, 1, -1)
    rate = 0.1
    labels = {}
    for how in ("clean", "noisy"):
        options = noisy(0.2, colour_of=how)
        x, y = of_seed_0(images, digit, rate, options)
        channel = channel_of(x)
        shown = np.where(channel == 1, 1, -1)
        followed = clean if how == "clean" else y
        other = y if how == "clean" else clean
        assert_rate(shown != followed, rate)
        assert_rate(shown != other, 0.1 * 0.8 + 0.9 * 0.2)
        assert_rate(y != clean, 0.2)
        labels[how] = y
    # the option moves neither labels nor draws
    assert_array_equal(labels["clean"], labels["noisy"])


@pytest.mark.parametrize("side", [14, 28])
def test_the_colour_is_the_channel_of_the_image(side: int) -> None:
    data = made([3, 7], **SMALL, side=side)
    for split in (data.train, data.validation, data.test):
        channel = channel_of(split.x)
        _, _, expected = decode(split, side)
        assert channel.shape == split.y.shape
        assert_array_equal(channel, expected)
        values = np.unique(channel)
        assert set(values) == {0, 1}


@pytest.mark.parametrize("part", ["train", "validation"])
def test_environments_by_agreement(part: str) -> None:
    """Environment 1 is where colour and label disagree, and nothing else changes."""
    flips = {"train_flip": [0.15, 0.15], "n_per_environment": 2000}
    by_flip = made([0], **flips)
    by_agreement = made([0], environments="agreement", **flips)
    before = getattr(by_flip, part)
    after = getattr(by_agreement, part)
    assert_array_equal(after.x, before.x)
    assert_array_equal(after.y, before.y)
    is_brighter = channel_of(after.x) == 1
    disagrees = is_brighter != (after.y > 0)
    assert_array_equal(after.environment, disagrees)
    assert after.environment.dtype == before.environment.dtype
    n = disagrees.size
    share = stats.binomtest(int(disagrees.sum()), n, 0.15)
    assert share.pvalue > 1e-4
    assert_array_equal(by_agreement.test.environment, by_flip.test.environment)


def test_images_are_drawn_once_and_from_the_right_part() -> None:
    data = made([0, 1])
    train, part, _ = decode(data.train)
    validation, part_v, _ = decode(data.validation)
    test, part_t, _ = decode(data.test)
    assert (part == 1).all()
    assert (part_v == 1).all()
    assert (part_t == 2).all()
    for seed in (0, 1):
        trained = set(train[seed])
        trained |= set(validation[seed])
        tested = set(test[seed])
        assert len(trained) == 7000
        assert len(tested) == 2500
    # Random, not the first of the file: the mean number is that of a uniform draw.
    standard_error = 12000 / np.sqrt(12 * train.size)
    distance = abs(train.mean() - 5999.5)
    assert distance < 5 * standard_error
    first, second = train
    in_order = np.sort(first)
    other_in_order = np.sort(second)
    assert (in_order != other_in_order).any()


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
        one_too_many = full | {key: number + 1}
        with pytest.raises(ValueError, match="MNIST has 60000"):
            ColoredMnistData(**one_too_many)


def test_images_of_a_fallback_repeat_where_there_are_too_few() -> None:
    fallback = numbered(1297, 500, "fallback:numbers")
    data = made([0], fallback)
    assert data.source == "fallback:numbers"
    parts = [
        (data.train, 5000, 1297),
        (data.test, 2500, 500),
    ]
    for split, n, available in parts:
        numbers, _, _ = decode(split)
        _, counts = np.unique(numbers[0], return_counts=True)
        assert len(counts) == available
        whole_rounds = n // available
        rounds = set(counts.tolist())
        assert rounds <= {whole_rounds, whole_rounds + 1}
