"""Colored MNIST: digits whose colour agrees with the label, but not in the test environment.

The label is +1 for digits 5 to 9 and -1 otherwise, flipped with probability
``label_noise``.  The colour (red or green, the two channels) is the *noisy* label,
flipped with the environment's probability e.  The paper's text colours before it adds the
label noise; its ERM accuracies (.845 in training, .106 in the test) are near 1 - e, which
only a colour drawn from the noisy label allows.
"""

from collections.abc import Sequence

import numpy as np

from kerhrm.data.dataset import Dataset, Split, pool, stack
from kerhrm.data.sources.mnist import Digits
from kerhrm.errors import KerhrmError
from kerhrm.randomness import stream

STAND_IN_TRAIN_SHARE = 0.75


def generate(
    seeds: Sequence[int],
    digits: Digits,
    *,
    n_per_environment: int = 2500,
    n_validation_per_environment: int = 1000,
    n_test: int = 2500,
    label_noise: float = 0.2,
    train_flip: Sequence[float] = (0.1, 0.2),
    test_flip: float = 0.9,
    side: int = 14,
) -> Dataset:
    """Draw one data set per seed.

    Images are drawn without replacement: training and validation from the training part
    of ``digits``, disjoint; the test images from its test part.  A stand-in is too small
    for that: three quarters of its training part serve training and the rest validation,
    each drawn from with replacement.  In both cases the size of one part shifts no point
    of another.

    Parameters
    ----------
    seeds : sequence of int, length B
    digits : Digits
    n_per_environment, n_validation_per_environment, n_test : int
        Images of each training environment, of each for validation, and of the test.
    label_noise : float in [0, 1]
    train_flip, test_flip : float in [0, 1]
        e of the training environments and of the test environment.
    side : {14, 28}
        14 keeps every second row and column.

    Returns
    -------
    Dataset
        x holds values in [0, 1], flattened with the channel first: (B, n, 2 side^2).

    Raises
    ------
    KerhrmError
        If an argument is out of its range or there are fewer images than asked for.
    """
    if not seeds:
        raise KerhrmError("seeds is empty", "give one seed or more")
    if not train_flip:
        raise KerhrmError("train_flip is empty", "give one probability or more")
    if side not in (14, 28):
        raise KerhrmError(f"side={side} is impossible", "choose 14 or 28")
    for name, probability in (
        ("label_noise", label_noise),
        *(("train_flip", e) for e in train_flip),
        ("test_flip", test_flip),
    ):
        if not 0 <= probability <= 1:
            raise KerhrmError(f"{name}={probability} is no probability", "choose it from 0 to 1")
    for name, size in (
        ("n_per_environment", n_per_environment),
        ("n_validation_per_environment", n_validation_per_environment),
        ("n_test", n_test),
    ):
        if size < 1:
            raise KerhrmError(f"{name}={size} is not positive", "choose 1 or more")
    n_training = len(train_flip) * (n_per_environment + n_validation_per_environment)
    for name, needed, available in (
        ("training and validation", n_training, len(digits.train_labels)),
        ("test", n_test, len(digits.test_labels)),
    ):
        if needed > available and not digits.is_stand_in:
            raise KerhrmError(
                f"{needed} {name} images are asked for, {digits.source} has {available}",
                "lower the sizes",
            )

    def part(seed: int, name: str, flips: Sequence[float], n: int) -> Split:
        images, labels = digits.train_images, digits.train_labels
        if name == "test":
            images, labels = digits.test_images, digits.test_labels
        chosen = choose(seed, name, digits, n * len(flips))
        pieces = []
        for environment, index in enumerate(chosen.reshape(len(flips), n)):
            random = stream(seed, "data", name, str(environment))
            x, y = color(
                random, images[index], labels[index], label_noise, flips[environment], side
            )
            pieces.append(Split(x, y, np.full(n, environment)))
        return pool(pieces)

    return Dataset(
        train=stack([part(s, "train", train_flip, n_per_environment) for s in seeds]),
        validation=stack(
            [part(s, "validation", train_flip, n_validation_per_environment) for s in seeds]
        ),
        test=stack([part(s, "test", (test_flip,), n_test) for s in seeds]),
        source=digits.source,
        test_environments=[f"e={test_flip:.2f}"],
        seeds=seeds,
    )


def color(
    random: np.random.Generator,
    images: np.ndarray,
    digit: np.ndarray,
    label_noise: float,
    flip: float,
    side: int = 14,
) -> tuple[np.ndarray, np.ndarray]:
    """Label and colour the images of one environment.

    Parameters
    ----------
    images : ndarray, (n, 28, 28), uint8
    digit : ndarray, (n,)
    label_noise, flip : float
        Probability that the label is wrong, and that the colour contradicts the label.

    Returns
    -------
    x : ndarray, (n, 2 side^2), float32
        Channel 1 holds the image where the colour says +1, channel 0 where it says -1.
    y : ndarray, (n,)
        Noisy label, -1 or +1.
    """
    n = len(digit)
    positive = (digit >= 5) ^ (random.random(n) < label_noise)
    channel = (positive ^ (random.random(n) < flip)).astype(int)
    step = images.shape[1] // side
    x = np.zeros((n, 2, side, side), np.float32)
    x[np.arange(n), channel] = images[:, ::step, ::step] / np.float32(255)
    return x.reshape(n, -1), np.where(positive, 1.0, -1.0)


def choose(seed: int, part: str, digits: Digits, n: int) -> np.ndarray:
    """Indices (n,) of the images of a part: "train", "validation" or "test".

    The first two index the training part of ``digits`` and have none in common.
    """
    origin = "test" if part == "test" else "train"
    available = len(digits.test_labels if part == "test" else digits.train_labels)
    shuffled = stream(seed, "data", "images", origin).permutation(available)
    if digits.is_stand_in:
        cut = int(STAND_IN_TRAIN_SHARE * available)
        mine = {"train": shuffled[:cut], "validation": shuffled[cut:], "test": shuffled}[part]
        return stream(seed, "data", "copies", part).choice(mine, n, replace=True)
    # From both ends, so that the size of neither part moves the other.
    return shuffled[::-1][:n] if part == "validation" else shuffled[:n]


def colour(x: np.ndarray) -> np.ndarray:
    """The channel that holds the image, 0 or 1: (..., 2 side^2) to (...)."""
    channels = x.reshape(*x.shape[:-1], 2, -1)
    return np.asarray(channels.sum(axis=-1).argmax(axis=-1))
