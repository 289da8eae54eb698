"""MNIST digits from the four original files, or a small synthetic fallback."""

import gzip
import math
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from kerhrm.errors import KerhrmError
from kerhrm.paper.data.sources import HINT, RawData, RawFile

SIDE = 28
FALLBACK_TRAIN = 1297
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
# name, SHA-256 and number of bytes
_FILES = """\
train-images-idx3-ubyte.gz 440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609 9912422
train-labels-idx1-ubyte.gz 3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c 28881
t10k-images-idx3-ubyte.gz 8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6 1648877
t10k-labels-idx1-ubyte.gz f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6 4542
"""


def _file(name: str, sha256: str, size: str) -> RawFile:
    return RawFile(name, sha256, int(size), tuple(f"{mirror}/{name}" for mirror in MIRRORS))


@dataclass(frozen=True)
class Digits(RawData):
    """Grey images of handwritten digits: 60 000 and 10 000 in MNIST; all uint8."""

    train_images: np.ndarray  #: (N, 28, 28)
    train_labels: np.ndarray  #: (N,), 0 to 9
    test_images: np.ndarray
    test_labels: np.ndarray
    source: str  #: ``"mnist"`` or ``"fallback:digits"``
    name: ClassVar[str] = "mnist"
    files: ClassVar[tuple[RawFile, ...]] = tuple(
        _file(*line.split()) for line in _FILES.splitlines()
    )

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the four files."""
        train_images, train_labels, test_images, test_labels = map(read_idx, paths)
        return cls(train_images, train_labels, test_images, test_labels, cls.name)

    @classmethod
    def fallback(cls) -> Self:
        """scikit-learn's 1797 digits of 8x8 pixels in the shape of MNIST.

        Values 0..16 are stretched to 0..255, every pixel becomes a block of 3x3, and a
        border of 2 makes 28x28.  The first 1297 are the training part, the last 500 the test.
        """
        from sklearn.datasets import load_digits  # a second, and rarely needed

        pixels, labels = load_digits(return_X_y=True)
        images = np.rint(pixels.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
        images = np.kron(images, np.ones((1, 3, 3), np.uint8))
        border = (SIDE - images.shape[-1]) // 2
        images = np.pad(images, ((0, 0), (border, border), (border, border)))
        labels = labels.astype(np.uint8)
        train, test = slice(FALLBACK_TRAIN), slice(FALLBACK_TRAIN, None)
        return cls(images[train], labels[train], images[test], labels[test], "fallback:digits")


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """Read a gzipped IDX file of unsigned bytes.

    The format: two zero bytes, the type 0x08, the number m of axes, m big-endian 32-bit
    lengths, then the values with the last axis running fastest.

    Raises
    ------
    KerhrmError
        If the file is not gzipped, has another magic number, or another length than its
        header announces.
    """
    try:
        content = gzip.decompress(Path(path).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise KerhrmError(f"cannot read {path}: {error}", HINT) from error
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise KerhrmError(
            f"{path} begins with 0x{content[:4].hex()}, not with the 0x000008 of IDX bytes", HINT
        )
    first = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:first]) if len(content) >= first else None
    if shape is None or len(content) - first != math.prod(shape):
        raise KerhrmError(
            f"{path} holds {len(content)} bytes, which its header ({shape or 'cut off'}) belies",
            HINT,
        )
    return np.frombuffer(content, np.uint8, offset=first).reshape(shape)
