"""MNIST digits from the four original files, or a small stand-in when there are none."""

import gzip
import logging
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from kerhrm.arrays import load_arrays, save_arrays
from kerhrm.data.raw import MNIST, RawDataUnavailable, locate
from kerhrm.errors import KerhrmError

logger = logging.getLogger(__name__)

SIDE = 28
STAND_IN_TRAIN = 1297
ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


@dataclass(frozen=True)
class Digits:
    """Grey images of handwritten digits.

    Attributes
    ----------
    train_images, test_images : ndarray, (N, 28, 28), uint8
    train_labels, test_labels : ndarray, (N,), uint8
        0 to 9.
    source : str
        ``"mnist"`` or ``"stand-in:digits"``.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    source: str

    @property
    def is_stand_in(self) -> bool:
        """Whether these are not the digits of the paper."""
        return self.source.startswith("stand-in:")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one file that :func:`load_digits` reads."""
        arrays = {n: getattr(self, n) for n in ARRAYS}
        save_arrays(path, arrays, {"source": self.source})


def load_digits(path: str | os.PathLike[str]) -> Digits:
    """Read what :meth:`Digits.save` wrote."""
    arrays, facts = load_arrays(path)
    return Digits(**{n: arrays[n] for n in ARRAYS}, source=facts["source"])


def load_mnist(
    raw_dir: str | os.PathLike[str] | None = None,
    on_missing: Literal["stand-in", "fail"] = "stand-in",
) -> Digits:
    """Load MNIST.

    Parameters
    ----------
    raw_dir : path, optional
        Folder looked into first; see :func:`kerhrm.data.raw.locate`.
    on_missing : {"stand-in", "fail"}
        What to do when the files are in no source: warn and use :func:`stand_in`, or raise.

    Returns
    -------
    Digits
        60 000 training and 10 000 test images.

    Raises
    ------
    RawDataUnavailable
        If the files are in no source and ``on_missing="fail"``.
    KerhrmError
        If a file is truncated or altered: a stand-in never takes its place.
    """
    if on_missing not in ("stand-in", "fail"):
        raise KerhrmError(
            f"on_missing={on_missing!r} is unknown", 'choose one of "stand-in", "fail"'
        )
    try:
        paths = locate(MNIST, raw_dir)
    except RawDataUnavailable as error:
        if on_missing == "fail":
            raise
        logger.warning("using scikit-learn's 8x8 digits instead of MNIST: %s", error)
        return stand_in()
    train_images, train_labels, test_images, test_labels = (
        read_idx(paths[file.name]) for file in MNIST.files
    )
    return Digits(train_images, train_labels, test_images, test_labels, "mnist")


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """Read a gzipped IDX file of unsigned bytes.

    The format: two zero bytes, the type 0x08, the number m of axes, m big-endian 32-bit
    lengths, then the values with the last axis running fastest.

    Returns
    -------
    ndarray, uint8

    Raises
    ------
    KerhrmError
        If the file is not gzipped, has another magic number, or another length than its
        header announces.
    """
    cure = "replace it by the published file or remove it"
    try:
        content = gzip.decompress(Path(path).read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise KerhrmError(f"cannot read {path}: {error}", cure) from error
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise KerhrmError(
            f"{path} begins with 0x{content[:4].hex()}, not with the 0x000008 of IDX bytes", cure
        )
    first = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:first]) if len(content) >= first else None
    if shape is None or len(content) - first != np.prod(shape, dtype=np.uint64):
        raise KerhrmError(
            f"{path} holds {len(content)} bytes, which its header ({shape or 'cut off'}) belies",
            cure,
        )
    return np.frombuffer(content, np.uint8, offset=first).reshape(shape)


def stand_in() -> Digits:
    """scikit-learn's 1797 digits of 8x8 pixels in the shape of MNIST.

    Values 0..16 are stretched to 0..255, every pixel becomes a block of 3x3, and a border
    of 2 makes 28x28.  The first 1297 are the training part, the last 500 the test part.
    It lets everything run without a network; accuracies on it say nothing about the paper.
    """
    # Imported here: it takes a second and is rarely needed.
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    images = np.rint(pixels.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    images = np.kron(images, np.ones((1, 3, 3), np.uint8))
    border = (SIDE - images.shape[-1]) // 2
    images = np.pad(images, ((0, 0), (border, border), (border, border)))
    labels = labels.astype(np.uint8)
    return Digits(
        images[:STAND_IN_TRAIN],
        labels[:STAND_IN_TRAIN],
        images[STAND_IN_TRAIN:],
        labels[STAND_IN_TRAIN:],
        "stand-in:digits",
    )
