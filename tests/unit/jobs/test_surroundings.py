"""Folders are checked before anything is computed for them."""

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kerhrm.errors import KerhrmError
from kerhrm.jobs.surroundings import (
    check_writable,
    import_from,
    reuse_memory,
)


@pytest.mark.parametrize("new", [True, False])
def test_a_writable_folder_is_made_and_left_empty(tmp_path: Path, new: bool) -> None:
    folder = tmp_path / "new" / "results" if new else tmp_path
    check_writable(folder)
    check_writable(str(folder))
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("below", ["", "results"])
def test_a_file_in_the_way_is_told(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = tmp_path / "file" / below
    with pytest.raises(KerhrmError) as caught:
        check_writable(folder)
    assert str(caught.value).startswith(f"results folder '{folder}' cannot be written: ")
    assert str(caught.value).endswith("; choose another one with --config results=FOLDER")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_takes_no_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    # permissions would not stop root, so the refusal is made up
    def refuse(dir: Path) -> None:
        raise OSError(code, os.strerror(code), str(dir))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(KerhrmError, match=f"cannot be written: {os.strerror(code)}; choose"):
        check_writable(tmp_path)


def test_processes_import_from_the_folder_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which_one.py").write_text(f"NAME = {name!r}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    import_from(tmp_path / "mine")
    import_from(tmp_path / "mine")
    expected = os.pathsep.join([str(tmp_path / "mine"), str(tmp_path / "other")])
    assert os.environ["PYTHONPATH"] == expected
    code = "import which_one; print(which_one.NAME)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout == "mine\n"


@pytest.mark.parametrize("before", [None, ""])
def test_an_empty_search_path_gets_no_empty_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    # an empty entry would mean the current folder
    if before is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", before)
    import_from(tmp_path)
    assert os.environ["PYTHONPATH"] == str(tmp_path)


def test_a_users_own_allocator_settings_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "7")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    reuse_memory()
    assert os.environ["MALLOC_MMAP_THRESHOLD_"] == "7"
    assert int(os.environ["MALLOC_TRIM_THRESHOLD_"]) >= 2**30
