"""Colored MNIST: digits whose colour agrees with the label, but not in the test environment.

The label is +1 for digits 5 to 9 and -1 otherwise, flipped with probability
``label_noise``.  The colour (red or green, the two channels) is the *noisy* label,
flipped with the environment's probability e.  The paper's text colours before it adds the
label noise; its ERM accuracies (.845 in training, .106 in the test) are near 1 - e, which
only a colour drawn from the noisy label allows.  ``colour_of: clean`` follows the text.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from kerhrm.errors import KerhrmError
from kerhrm.options import Count, Options, Probability, option
from kerhrm.paper.data.dataset import Dataset
from kerhrm.paper.data.drawing import draw_parts
from kerhrm.paper.data.mnist import Digits
from kerhrm.randomness import stream

FALLBACK_TRAIN_SHARE = 0.75


class ColoredMnistData(Options):
    """Colored MNIST (paper, section 5.1)."""

    label_noise: Probability = option(0.2, "P(label is wrong)")
    train_flip: tuple[Probability, Probability] = option(
        (0.1, 0.2), "P(colour contradicts the label that it follows), by training environment"
    )
    test_flip: Probability = option(0.9, "likewise in the test environment")
    colour_of: Literal["noisy", "clean"] = option(
        "noisy", "the label that the colour follows: with its noise, or before it"
    )
    side: Literal[14, 28] = option(14, "pixels a side")
    shrink: Literal["subsample", "pool"] = option(
        "subsample", "from 28 to 14 pixels: every second one, or the means of four"
    )
    n_per_environment: Count = option(2500, "training images of each environment")
    n_validation_per_environment: Count = option(1000, "likewise for validation")
    n_test: Count = option(2500, "test images")

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_per_environment

    @property
    def n_inputs(self) -> int:
        """Number of predictors."""
        return 2 * self.side**2


def generate(options: ColoredMnistData, seeds: Sequence[int], digits: Digits) -> Dataset:
    """Draw one data set per seed.

    Images are drawn without replacement: training and validation from the training part
    of ``digits``, disjoint; the test images from its test part.  Fallback data are too small
    for that: three quarters of its training part serve training and the rest validation,
    each drawn from with replacement.

    Returns
    -------
    Dataset
        x holds values in [0, 1], flattened with the channel first: (S, n, 2 side^2).

    Raises
    ------
    KerhrmError
        If there are fewer images than asked for.
    """
    flips = {
        "train": options.train_flip,
        "validation": options.train_flip,
        "test": (options.test_flip,),
    }
    sizes = {
        "train": options.n_per_environment,
        "validation": options.n_validation_per_environment,
        "test": options.n_test,
    }
    n_training = len(options.train_flip) * (sizes["train"] + sizes["validation"])
    for name, needed, available in (
        ("training and validation", n_training, len(digits.train_labels)),
        ("test", options.n_test, len(digits.test_labels)),
    ):
        if needed > available and not digits.is_fallback:
            raise KerhrmError(
                f"{needed} {name} images are asked for, {digits.source} has {available}",
                "lower the sizes",
            )

    def points(
        random: np.random.Generator, seed: int, part: str, environment: int
    ) -> tuple[np.ndarray, np.ndarray]:
        n, e = sizes[part], flips[part]
        index = choose(seed, part, digits, len(e) * n).reshape(len(e), n)[environment]
        if part == "test":
            images, labels = digits.test_images[index], digits.test_labels[index]
        else:
            images, labels = digits.train_images[index], digits.train_labels[index]
        return color(random, images, labels, e[environment], options)

    return Dataset(
        **draw_parts(points, seeds, {part: len(e) for part, e in flips.items()}),
        source=digits.source,
        test_environments=[f"e={options.test_flip:.2f}"],
        seeds=seeds,
        task="classification",
    )


def color(
    random: np.random.Generator,
    images: np.ndarray,
    digit: np.ndarray,
    flip: float,
    options: ColoredMnistData,
) -> tuple[np.ndarray, np.ndarray]:
    """Label and colour the images (n, 28, 28), uint8, and digits (n,) of one environment.

    ``flip`` is the probability that the colour contradicts the label that it follows.

    Returns
    -------
    x : ndarray, (n, 2 side^2), float32
        Channel 1 holds the image where the colour says +1, channel 0 where it says -1.
    y : ndarray, (n,)
        Noisy label, -1 or +1.
    """
    n = len(digit)
    positive = (digit >= 5) ^ (random.random(n) < options.label_noise)
    followed = positive if options.colour_of == "noisy" else digit >= 5
    channel = (followed ^ (random.random(n) < flip)).astype(int)
    side = options.side
    step = images.shape[1] // side
    if options.shrink == "pool":
        small = images.reshape(n, side, step, side, step).mean(axis=(2, 4), dtype=np.float32)
    else:
        small = images[:, ::step, ::step]
    x = np.zeros((n, 2, side, side), np.float32)
    x[np.arange(n), channel] = small / np.float32(255)
    return x.reshape(n, -1), np.where(positive, 1.0, -1.0)


def choose(seed: int, part: str, digits: Digits, n: int) -> np.ndarray:
    """Indices (n,) of a part's images: of the test part's, or the training part's.

    Those of "train" and "validation" are disjoint; the size of none moves another.
    """
    origin = "test" if part == "test" else "train"
    available = len(digits.test_labels if part == "test" else digits.train_labels)
    shuffled = stream(seed, "data", "images", origin).permutation(available)
    if digits.is_fallback:
        cut = int(FALLBACK_TRAIN_SHARE * available)
        mine = {"train": shuffled[:cut], "validation": shuffled[cut:], "test": shuffled}[part]
        return stream(seed, "data", "copies", part).choice(mine, n, replace=True)
    # From both ends, so that the size of neither part moves the other.
    return shuffled[::-1][:n] if part == "validation" else shuffled[:n]


def colour(x: np.ndarray) -> np.ndarray:
    """The channel that holds the image, 0 or 1: (..., 2 side^2) to (...)."""
    channels = x.reshape(*x.shape[:-1], 2, -1)
    return np.asarray(channels.sum(axis=-1).argmax(axis=-1))
