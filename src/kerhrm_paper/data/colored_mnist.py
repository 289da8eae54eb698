"""Colored MNIST.

Digits whose colour agrees with the label, but not in the test environment.

The label is +1 for digits 5 to 9 and -1 otherwise, flipped with probability
``label_noise``.  The colour (red or green, the two channels) is the *noisy* label,
flipped with the environment's probability e.  The paper's text colours before it adds
the label noise; its ERM accuracies (.845 in training, .106 in the test) are near 1 - e,
which only a colour drawn from the noisy label allows.  ``colour_of: clean`` follows the
text.
"""

import gzip
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from kerhrm.options import Count, Options, Probability, Some, option
from kerhrm.randomness import stream
from kerhrm_paper.data.drawing import draw_parts, named_by
from kerhrm_paper.data.draws import Draws, Split
from kerhrm_paper.data.sources import RawData, RawFile

SIDE = 28
FALLBACK_TRAIN = 1297
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
#: size in bytes, and SHA-256
FILES = {
    "train-images-idx3-ubyte.gz": (
        9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    "train-labels-idx1-ubyte.gz": (
        28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    "t10k-images-idx3-ubyte.gz": (
        1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    "t10k-labels-idx1-ubyte.gz": (
        4_542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
}


def _raw_files() -> tuple[RawFile, ...]:
    files = []
    for name, (size, sha256) in FILES.items():
        urls = tuple(f"{mirror}/{name}" for mirror in MIRRORS)
        files.append(RawFile(name, sha256, size, urls))
    return tuple(files)


@dataclass(frozen=True)
class Digits(RawData):
    """Grey images of handwritten digits: 60 000 and 10 000 in MNIST; all uint8."""

    train_images: np.ndarray  #: (N, 28, 28)
    train_labels: np.ndarray  #: (N,), 0 to 9
    test_images: np.ndarray
    test_labels: np.ndarray
    source: str  #: ``"mnist"`` or ``"fallback:digits"``
    name: ClassVar[str] = "mnist"
    files: ClassVar[tuple[RawFile, ...]] = _raw_files()

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the four files."""
        train_images, train_labels, test_images, test_labels = map(read_idx, paths)
        return cls(
            train_images=train_images,
            train_labels=train_labels,
            test_images=test_images,
            test_labels=test_labels,
            source=cls.name,
        )

    @classmethod
    def fallback(cls) -> Self:
        """scikit-learn's 1797 digits of 8x8 pixels in the shape of MNIST.

        Values 0..16 are stretched to 0..255, every pixel becomes a block of 3x3, and a
        border of 2 makes 28x28.  The first 1297 are the training part, the last 500 the
        test.
        """
        from sklearn.datasets import load_digits  # a second, and rarely needed

        pixels, labels = load_digits(return_X_y=True)
        stretched = pixels.reshape(-1, 8, 8)
        stretched = stretched * (255 / 16)
        rounded = np.rint(stretched)
        images = rounded.astype(np.uint8)
        block = np.ones((1, 3, 3), np.uint8)
        images = np.kron(images, block)
        n_missing = SIDE - images.shape[-1]
        width = n_missing // 2
        border = (width, width)
        padding = ((0, 0), border, border)
        images = np.pad(images, padding)
        labels = labels.astype(np.uint8)
        return cls(
            train_images=images[:FALLBACK_TRAIN],
            train_labels=labels[:FALLBACK_TRAIN],
            test_images=images[FALLBACK_TRAIN:],
            test_labels=labels[FALLBACK_TRAIN:],
            source="fallback:digits",
        )

    def images(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        """Images and labels of the part that a part of the data set is drawn from."""
        if part == "test":
            return self.test_images, self.test_labels
        return self.train_images, self.train_labels


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """Read a gzipped IDX file of unsigned bytes, which has been verified.

    The format: two zero bytes, the type 0x08, the number m of axes, m big-endian 32-bit
    lengths, then the values with the last axis running fastest.
    """
    packed = Path(path).read_bytes()
    content = gzip.decompress(packed)
    n_axes = content[3]
    shape = struct.unpack_from(f">{n_axes}I", content, 4)
    n_header = 4 + 4 * n_axes
    pixels = np.frombuffer(content, np.uint8, offset=n_header)
    return pixels.reshape(shape)


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
        return color(random, images[index], digit, flip, options)

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
    contradicts = colour(split.x) != is_positive
    return replace(split, environment=contradicts.astype(np.int8))


def color(
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


def colour(x: np.ndarray) -> np.ndarray:
    """The channel that holds the image, 0 or 1: (..., 2 side^2) to (...)."""
    *shape, _ = x.shape
    channels = x.reshape(*shape, 2, -1)
    brightness = channels.sum(axis=-1)
    brighter = brightness.argmax(axis=-1)
    return np.asarray(brighter)
