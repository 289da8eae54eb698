"""Files appear whole or not at all, and damaged ones are told as such."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from kerhrm.errors import KerhrmError
from kerhrm.storage.arrays import atomic, load_arrays, save_arrays, temporaries, write_text


def test_arrays_and_facts_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.npz"
    arrays = {"a": np.arange(6.0).reshape(2, 3), "names": np.array(["x", "y"]), "n": np.int64(3)}
    save_arrays(path, arrays, {"k": 15, "name": "two"})
    again, facts = load_arrays(path)
    assert facts == {"k": 15, "name": "two"}
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        assert again[name].dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(again[name], array)
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
        with atomic(path) as handle:
            handle.write(b"half of it")
            assert not path.exists() or path.read_text() == earlier
            raise error

    with pytest.raises(error):
        fail_half_way()
    assert os.listdir(tmp_path) == before
    if earlier is not None:
        assert path.read_text() == earlier


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "in the way")
    with pytest.raises(KerhrmError, match=r"cannot write .*file/x\.txt"):
        write_text(tmp_path / "file" / "x.txt", "text")


def test_python_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a holds Python objects"):
        save_arrays(tmp_path / "x.npz", {"a": np.array([{}, None], dtype=object)})
    assert os.listdir(tmp_path) == []
    np.savez(tmp_path / "x.npz", a=np.array([{}, None], dtype=object))
    with pytest.raises(KerhrmError, match="delete it and run again"):
        load_arrays(tmp_path / "x.npz")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(KerhrmError, match=r"x\.npz does not exist"):
        load_arrays(tmp_path / "x.npz")


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_a_truncated_file_is_told(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "x.npz"
    save_arrays(path, {"a": np.random.default_rng(0).standard_normal(1000)})
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if kept < 1 else int(kept)])
    with pytest.raises(KerhrmError, match=r"is damaged .*; delete it and run again"):
        load_arrays(path)


def test_a_flipped_byte_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    save_arrays(path, {"a": np.zeros(1000)})
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(KerhrmError, match="is damaged"):
        load_arrays(path)


def test_incomplete_files_lie_where_they_are_told_to(tmp_path: Path) -> None:
    path, folder = tmp_path / "new" / ("x" * 250), tmp_path / "temporary"
    with temporaries(folder), atomic(path) as handle:
        handle.write(b"whole")
        assert len(os.listdir(folder)) == 1
        assert os.listdir(path.parent) == []
    assert path.read_bytes() == b"whole"
    assert os.listdir(folder) == []
    with atomic(path):
        assert len(os.listdir(path.parent)) == 2


def test_files_for_another_disk_are_written_there(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    with tempfile.TemporaryDirectory(dir=memory) as other:
        with temporaries(tmp_path):
            write_text(Path(other, "x"), "whole")
        assert os.listdir(other) == ["x"]
        assert Path(other, "x").read_text() == "whole"
