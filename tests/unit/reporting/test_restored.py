"""A folder is put back as it was where a change of it fails."""

import errno
import os
import stat
import tempfile
from pathlib import Path

import pytest
from folders import contents
from refusals import refusal

from kerhrm.errors import KerhrmError
from kerhrm.files import write_text
from kerhrm_paper.reporting.restored import restored_on_error


def test_a_folder_is_put_back_where_it_cannot_be_removed(tmp_path: Path) -> None:
    """A link to a folder, or a mount; and what it had stays untouched."""
    kept = tmp_path / "disk" / "tables" / "kept.csv"
    kept.parent.mkdir(parents=True)
    changed = kept.with_name("changed.csv")
    kept.write_text("kept")
    changed.write_text("before")
    target = tmp_path / "published"
    target.symlink_to(tmp_path / "disk")
    (target / "nowhere").symlink_to("dangling")
    inode = kept.stat().st_ino
    files = contents(target)

    def stopped() -> None:
        with restored_on_error(target):
            write_text(target / "tables" / "changed.csv", "after")
            write_text(target / "new" / "file.csv", "new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert contents(target) == files
    assert changed.read_text() == "before"
    assert target.is_symlink()
    assert (target / "nowhere").is_symlink()
    assert not (target / "new").exists()
    assert kept.stat().st_ino == inode


def test_a_folder_that_cannot_be_put_back_has_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "published"
    target.mkdir()
    file = target / "table.csv"
    file.write_text("before")
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))

    def full(*_: object) -> None:
        message = os.strerror(errno.ENOSPC)
        raise OSError(errno.ENOSPC, message)

    def publish_nothing() -> None:
        with restored_on_error(target):
            write_text(file, "after")
            monkeypatch.setattr("kerhrm.files.os.replace", full)
            raise KerhrmError("the disk is full")

    with refusal(r"cannot put .* back as it was") as error:
        publish_nothing()
    (copy,) = copies.glob("*/before/table.csv")
    assert copy.read_text() == "before"
    assert str(copy.parent) in str(error.value)


def test_what_the_user_writes_meanwhile_stays(tmp_path: Path) -> None:
    """Files of other names, and the user's later version of a file."""
    target = tmp_path / "published"
    readme = target / "README.md"
    write_text(readme, "before")
    write_text(target / "table.csv", "before")
    (target / "figures").mkdir()

    def stopped() -> None:
        with restored_on_error(target):
            for _ in range(2):
                write_text(target / "table.csv", "after")
            write_text(target / "figures" / "table.png", "after")
            write_text(target / "scores" / "table.csv", "after")
            write_text(target / "claims.csv", "after")
            readme.write_text("edited")
            (target / "notes.txt").write_text("the user's")
            (target / "scores" / "notes.txt").write_text("the user's")
            (target / "claims.csv").write_text("the user's")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert contents(target) == {
        target / "table.csv": b"before",
        readme: b"edited",
        target / "notes.txt": b"the user's",
        target / "scores" / "notes.txt": b"the user's",
        target / "claims.csv": b"the user's",
    }
    assert (target / "figures").is_dir()


def test_the_earlier_version_of_a_file_edited_meanwhile_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    target = tmp_path / "published"
    file = target / "table.csv"
    write_text(file, "before")

    def stopped() -> None:
        with restored_on_error(target):
            write_text(file, "after")
            file.write_text("edited")
            raise KerhrmError("the kernel died")

    with refusal("the kernel died"):  # whatever else is to be said
        stopped()
    (copy,) = copies.glob("*/before/table.csv")
    assert copy.read_text() == "before"
    assert f"left as it is: {file}; earlier files are in {copy.parent}" in caplog.text
    assert file.read_text() == "edited"


def test_a_file_has_its_mode_again(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("before")
    file.chmod(0o600)
    with refusal("the kernel died"), restored_on_error(tmp_path):
        write_text(file, "after")
        raise KerhrmError("the kernel died")
    assert file.read_text() == "before"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
