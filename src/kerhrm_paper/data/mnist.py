"""MNIST: images of handwritten digits, from its four files."""

import gzip
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

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
