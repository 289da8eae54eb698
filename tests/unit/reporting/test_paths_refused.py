"""Paths that the system refuses: one line says which, why, and what helps."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from kerhrm.cli import main
from kerhrm.errors import FileError
from kerhrm.files import visible_files
from kerhrm_paper.reporting.run import Run

LONG = "a" * 300
CELL = ["table1", "r2=0.7", "ERM", "test_acc"]


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The only line of an error."""
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.removeprefix("kerhrm: error: ").rstrip("\n")


@pytest.mark.parametrize(
    "words",
    [
        ["verify", LONG],
        ["claims", LONG],
        ["explain", *CELL, "--run", LONG],
        ["publish", LONG, "--again"],
        ["compete", f"{LONG}.py"],
    ],
    ids=lambda words: words[0],
)
def test_a_name_that_is_too_long(
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "Snakefile").touch()
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    line = line_of(capsys)
    assert line.startswith(LONG)
    assert "File name too long" in line
    assert line.endswith("; give a shorter name")


def test_a_folder_that_nobody_may_search(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Root may search any, so that the file system refuses in its place."""
    stat = os.stat

    def refused(path: str | Path, **options: bool) -> os.stat_result:
        if str(path).startswith(str(tmp_path)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refused)
    hint = "make it readable, and the folders above it"
    for words in (["claims", str(tmp_path)], ["verify", str(tmp_path)]):
        assert main(words) == 1
        file = tmp_path / "provenance.json"
        assert line_of(capsys) == f"{file} cannot be read; {hint}"
    with pytest.raises(OSError, match=f"tables cannot be read; {hint}"):
        _ = Run(tmp_path).tables


def test_a_folder_of_tables_that_nobody_may_read_is_not_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read any, so that the file system refuses in its place."""
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / ".ipynb_checkpoints").mkdir()
    (tables / "table1.csv").touch()
    scandir = os.scandir
    closed = tables

    def refused(path: str | Path) -> Any:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(FileError, match="tables cannot be read; make it readable"):
        _ = Run(tmp_path).tables
    with pytest.raises(FileError, match="tables cannot be read; make it readable"):
        visible_files(tmp_path, "**/*.csv")
    closed = tables / ".ipynb_checkpoints"
    assert visible_files(tmp_path, "**/*.csv") == [tables / "table1.csv"]
    assert visible_files(tmp_path / "nothing", "*.csv") == []


def test_a_folder_that_has_been_deleted(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert main(["cost", "table1"]) == 1
    problem = "the current folder does not exist (No such file or directory)"
    assert line_of(capsys) == f"{problem}; cd to one that does"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            OSError(errno.EIO, "Input/output error", "x.csv"),
            "x.csv: Input/output error; check the path, and the disk that it is on",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "No space left on device; free disk space",
        ),
        (
            BrokenPipeError(errno.EPIPE, "Broken pipe"),
            "Broken pipe; check the path, and the disk that it is on",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_another_error_than_that_of_the_output(
    error: OSError,
    line: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Run, "claims", fail)
    (tmp_path / "claims.csv").touch()
    assert main(["claims", str(tmp_path)]) == 1
    assert line_of(capsys) == line
