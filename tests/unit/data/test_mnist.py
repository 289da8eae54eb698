"""IDX files, the digits of MNIST, and when a fallback may take their place."""

import gzip
import hashlib
import logging
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as npst
from numpy.testing import assert_array_equal

from kerhrm_paper.data.mnist import Digits, read_idx
from kerhrm_paper.data.sources import RawDataUnavailable, RawFile

REAL_FILES = os.environ.get("KERHRM_RAW_DIR")  # read before the tests' settings hide it


def idx(array: np.ndarray) -> bytes:
    """The format, written from its description."""
    kind = struct.pack(">HBB", 0, 8, array.ndim)
    lengths = struct.pack(f">{array.ndim}i", *array.shape)
    content = bytes(array.flatten().tolist())
    return gzip.compress(kind + lengths + content, mtime=0)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """MNIST replaced by 7 training and 3 test images; their files are not there yet."""
    random = np.random.default_rng(0)

    def bytes_below(highest: int, *shape: int) -> np.ndarray:
        return random.integers(0, highest, shape).astype(np.uint8)

    arrays = {
        "train-images.gz": bytes_below(256, 7, 28, 28),
        "train-labels.gz": bytes_below(10, 7),
        "test-images.gz": bytes_below(256, 3, 28, 28),
        "test-labels.gz": bytes_below(10, 3),
    }
    files = []
    for name, array in arrays.items():
        content = idx(array)
        checksum = hashlib.sha256(content).hexdigest()
        size = len(content)
        files.append(RawFile(name, checksum, size))
    monkeypatch.setattr(Digits, "files", files)
    return arrays


def test_the_four_files_become_digits(
    tiny: dict[str, np.ndarray], tmp_path: Path
) -> None:
    for name, array in tiny.items():
        (tmp_path / name).write_bytes(idx(array))
    digits = Digits.fetch(tmp_path, on_missing="fail")
    assert digits.source == "mnist"
    assert not digits.is_fallback
    for got, expected in zip(
        (
            digits.train_images,
            digits.train_labels,
            digits.test_images,
            digits.test_labels,
        ),
        tiny.values(),
        strict=True,
    ):
        assert_array_equal(got, expected)
        assert got.dtype == np.uint8


def test_missing_files_give_a_fallback_and_a_warning(
    tiny: dict[str, np.ndarray], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        digits = Digits.fetch(tmp_path, "fallback")
    assert digits.source == "fallback:digits"
    assert "instead of mnist" in caplog.text
    assert str(tmp_path) in caplog.text


shapes = npst.array_shapes(min_dims=1, max_dims=3, max_side=6)


@given(npst.arrays(np.uint8, shapes))
def test_idx_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray
) -> None:
    path = tmp_path_factory.mktemp("idx") / "file.gz"
    path.write_bytes(idx(array))
    assert_array_equal(read_idx(path), array)


@pytest.mark.skipif(REAL_FILES is None, reason="KERHRM_RAW_DIR is not set")
def test_the_real_files() -> None:
    try:
        digits = Digits.fetch(REAL_FILES, on_missing="fail")
    except RawDataUnavailable as error:
        pytest.skip(str(error))
    assert digits.train_images.shape == (60000, 28, 28)
    assert digits.test_images.shape == (10000, 28, 28)
    # Facts of MNIST that every tutorial repeats: first labels, class counts, mean,
    # deviation.
    first_labels = digits.train_labels[:10]
    assert first_labels.tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    counts = np.bincount(digits.train_labels)
    assert counts.tolist() == [
        5923,
        6742,
        5958,
        6131,
        5842,
        5421,
        5918,
        6265,
        5851,
        5949,
    ]
    counts = np.bincount(digits.test_labels)
    assert counts.tolist() == [
        980,
        1135,
        1032,
        1010,
        982,
        892,
        958,
        1028,
        974,
        1009,
    ]
    mean = digits.train_images.mean() / 255
    assert mean == pytest.approx(0.1307, abs=5e-5)
    deviation = digits.train_images.std() / 255
    assert deviation == pytest.approx(0.3081, abs=5e-5)
