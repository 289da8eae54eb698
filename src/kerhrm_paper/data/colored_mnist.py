"""Colored MNIST.

Digits whose colour agrees with the label, but not in the test environment.

The label is +1 for digits 5 to 9 and -1 otherwise, flipped with probability
``label_noise``.  The colour (red or green, the two channels) is the *noisy* label,
flipped with the environment's probability e.  The paper's text colours before it adds
the label noise; its ERM accuracies (.845 in training, .106 in the test) are near 1 - e,
which only a colour drawn from the noisy label allows.  ``colour_of: clean`` follows the
text.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from kerhrm.options import Count, Options, Probability, Some, option
from kerhrm.randomness import stream
from kerhrm_paper.data.drawing import draw_parts, named_by
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.data.mnist import Digits


class ColoredMnistData(Options):
    """Colored MNIST (paper, section 5.1)."""

    label_noise: Probability = option(0.2, "P(label is wrong)")
    train_flip: tuple[Probability, Probability] = option(
        (0.1, 0.2), "P(colour contradicts label)"
    )
    test_flip: Annotated[Some[Probability], named_by(".2f")] = option(
        [0.9], "likewise in each test environment; test_acc is of the first one"
    )
    colour_of: Literal["noisy", "clean"] = option(
        "noisy", "the label that the colour follows"
    )
    environments: Literal["flips", "agreement"] = option(
        "flips", "or whether colour and label agree: what given environments are"
    )
    side: Literal[14, 28] = option(14, "pixels a side")
    shrink: Literal["subsample", "pool"] = option(
        "subsample", "to 14: every second, or means of 4"
    )
    n_per_environment: Count = option(2500, "training images of each environment")
    n_validation_per_environment: Count = option(1000, "likewise for validation")
    n_test: Count = option(2500, "images of each test environment")

    @model_validator(mode="after")
    def _are_there(self) -> Self:
        n_train = 2 * self.n_per_environment
        n_validation = 2 * self.n_validation_per_environment
        n_test = len(self.test_flip) * self.n_test
        if n_train + n_validation > 60_000 or n_test > 10_000:
            raise ValueError(
                "MNIST has 60000 training and 10000 test images; lower the sizes"
            )
        return self

    @property
    def n_points(self) -> int:
        """Number of training points."""
        return 2 * self.n_per_environment


def generate(options: ColoredMnistData, seeds: Sequence[int], digits: Digits) -> Draws:
    """Draw one replicate per seed; x is (S, n, 2 side^2) in [0, 1], the channel first.

    Images are drawn without replacement: training and validation from the training part
    of ``digits``, disjoint; the test images from its test part.  Those of fallback data
    repeat where there are too few.
    """
    sizes = {
        "train": options.n_per_environment,
        "validation": options.n_validation_per_environment,
        "test": options.n_test,
    }
    flips: dict[str, Sequence[float]] = {
        "train": options.train_flip,
        "validation": options.train_flip,
        "test": options.test_flip,
    }
    environments: dict[str, list[tuple[str, int, float]]] = {}
    for part, of_part in flips.items():
        numbered = enumerate(of_part)
        environments[part] = [(part, e, flip) for e, flip in numbered]

    def points(
        random: np.random.Generator, seed: int, part: str, environment: int, flip: float
    ) -> tuple[np.ndarray, ...]:
        n = sizes[part]
        n_environments = len(flips[part])
        chosen = choose(seed, part, digits, n_environments * n)
        by_environment = chosen.reshape(n_environments, n)
        index = by_environment[environment]
        images, labels = digits.images(part)
        digit = labels[index]
        return label_and_paint(random, images[index], digit, flip, options)

    drawn = draw_parts(points, seeds, environments)
    if options.environments == "agreement":
        for part in ("train", "validation"):
            drawn[part] = _split_by_agreement(drawn[part])
    names = [f"e_test={flip:.2f}" for flip in options.test_flip]
    return Draws(
        **drawn,
        test_environments=names,
        seeds=seeds,
        task="classification",
        source=digits.source,
        n_headline=1,
    )


def _split_by_agreement(split: Split) -> Split:
    """Call environment 0 where the colour agrees with the label, and 1 where not.

    No other two environments differ more in what the colour says of the label.
    """
    is_positive = split.y > 0
    contradicts = channel_of(split.x) != is_positive
    return replace(split, environment=contradicts.astype(np.int8))


def label_and_paint(
    random: np.random.Generator,
    images: np.ndarray,
    digit: np.ndarray,
    flip: float,
    options: ColoredMnistData,
) -> tuple[np.ndarray, np.ndarray]:
    """Label and colour the images of one environment.

    Parameters
    ----------
    random : Generator of NumPy
        Stream of the environment.
    images : ndarray, (n, 28, 28), uint8
    digit : ndarray, (n,)
        What the images show.
    flip : float
        Probability that the colour contradicts the label that it follows.
    options : ColoredMnistData
        Label noise, and how images shrink.

    Returns
    -------
    x : ndarray, (n, 2 side^2), float32
        Channel 1 holds the image where the colour says +1, channel 0 where it says -1.
    y : ndarray, (n,)
        Noisy labels, -1 or +1.
    """
    n = len(digit)
    is_large = digit >= 5
    is_wrong = random.random(n) < options.label_noise
    is_positive = is_large ^ is_wrong
    followed = is_positive if options.colour_of == "noisy" else is_large
    is_flipped = random.random(n) < flip
    channel = (followed ^ is_flipped).astype(int)
    small = _shrink(images, options)
    side = options.side
    x = np.zeros((n, 2, side, side), np.float32)
    rows = np.arange(n)
    x[rows, channel] = small / np.float32(255)
    y = np.where(is_positive, 1.0, -1.0)
    return x.reshape(n, -1), y


def _shrink(images: np.ndarray, options: ColoredMnistData) -> np.ndarray:
    """Images (n, 28, 28) as (n, side, side)."""
    side = options.side
    step = images.shape[1] // side
    if options.shrink == "subsample":
        return images[:, ::step, ::step]
    n = len(images)
    blocks = images.reshape(n, side, step, side, step)
    means = blocks.mean(axis=(2, 4), dtype=np.float32)
    return np.asarray(means)


def choose(seed: int, part: str, digits: Digits, n: int) -> np.ndarray:
    """Indices (n,) of a part's images: of the test part's, or the training part's."""
    origin = "test" if part == "test" else "train"
    _, labels = digits.images(part)
    random = stream(seed, "data", "images", origin)
    shuffled = random.permutation(len(labels))
    # From both ends, so that the size of neither part moves the other.
    if part == "validation":
        shuffled = shuffled[::-1]
    return np.resize(shuffled, n)


def channel_of(x: np.ndarray) -> np.ndarray:
    """The channel that holds the image, 0 or 1: (..., 2 side^2) to (...)."""
    *shape, _ = x.shape
    channels = x.reshape(*shape, 2, -1)
    brightness = channels.sum(axis=-1)
    brighter = brightness.argmax(axis=-1)
    return np.asarray(brighter)
