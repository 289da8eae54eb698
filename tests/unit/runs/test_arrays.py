"""Files appear whole or not at all, damaged ones are told, and records come back."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal
from refusals import refusal

from kerhrm.algorithm.records import Direction
from kerhrm.files import atomic, write_text
from kerhrm_paper.runs.arrays import (
    load_arrays,
    load_records,
    save_arrays,
    save_stacked,
)


def test_arrays_and_facts_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.npz"
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "names": np.array(["x", "y"]),
        "n": np.int64(3),
    }
    save_arrays(path, arrays, k=15, name="two")
    again, facts = load_arrays(path)
    assert facts == {"k": 15, "name": "two"}
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        assert again[name].dtype == np.asarray(array).dtype
        assert_array_equal(again[name], array)
    save_arrays(path, {})
    assert load_arrays(path) == ({}, {})
    assert os.listdir(path.parent) == ["x.npz"]


@pytest.mark.parametrize("earlier", [None, "old"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failed_write_leaves_no_trace(
    tmp_path: Path, earlier: str | None, error: type[BaseException]
) -> None:
    path = tmp_path / "x.txt"
    if earlier is not None:
        write_text(path, earlier)
    before = os.listdir(tmp_path)

    def fail_half_way() -> None:
        with atomic(path) as file:
            file.write(b"half of it")
            assert not path.exists() or path.read_text() == earlier
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert os.listdir(tmp_path) == before
    if earlier is not None:
        assert path.read_text() == earlier


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_files_have_the_mode_that_the_umask_leaves(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        write_text(tmp_path / "x.txt", "text")
    finally:
        os.umask(before)
    mode = (tmp_path / "x.txt").stat().st_mode
    assert mode & 0o777 == 0o666 & ~mask


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "in the way")
    with refusal(r"cannot write .*file/x\.txt"):
        write_text(tmp_path / "file" / "x.txt", "text")


def test_python_objects_are_refused(tmp_path: Path) -> None:
    objects = np.array([{}, None], dtype=object)
    with pytest.raises(TypeError, match="a holds Python objects"):
        save_arrays(tmp_path / "x.npz", {"a": objects})
    assert os.listdir(tmp_path) == []
    np.savez(tmp_path / "x.npz", a=objects)
    with refusal("delete it and run again"):
        load_arrays(tmp_path / "x.npz")


def _cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    changed = bytes([content[middle] ^ 1])
    return content[:middle] + changed + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda c: b"",
        lambda c: c[:10],
        _cut,
        lambda c: c[:-9],
        _flipped,
        lambda c: b"text",
    ],
)
def test_a_damaged_file_is_told(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "x.npz"
    numbers = np.random.default_rng(0).standard_normal(1000)
    save_arrays(path, {"a": numbers})
    path.write_bytes(damage(path.read_bytes()))
    with refusal(r"is damaged .*; delete it and run again"):
        load_arrays(path)


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.mkdir()
    problem = f"cannot write {path}: Is a directory; move this folder away, then run"
    with refusal(problem):
        save_arrays(path, {"a": np.zeros(1)})
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusal(rf"{tmp_path} is a folder; delete it and run again"):
        load_arrays(tmp_path)

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("numpy.load", forbidden)  # root may read any file
    (tmp_path / "x.npz").touch()
    with refusal(r"x.npz cannot be read; make it readable"):
        load_arrays(tmp_path / "x.npz")


def test_records_of_all_seeds_come_back(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    records = []
    for s in range(4):
        theta = torch.arange(3.0) + s
        records.append(Direction(theta, s, 0.5 * s, 0.0, 1))
    units = [record.arrays() for record in records]
    save_stacked(path, units, rule="test")
    arrays, facts = load_arrays(path)
    assert arrays["theta"].shape == (4, 3)
    assert facts == {"rule": "test"}
    loaded = load_records(Direction, path)
    for one, again in zip(records, loaded, strict=True):
        assert torch.equal(one.theta, again.theta)
        assert one.k == again.k
        assert one.alpha == again.alpha
