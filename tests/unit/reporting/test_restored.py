"""A folder is put back as it was where a change of it fails."""

import errno
import os
import tempfile
from pathlib import Path

import pytest
from folders import contents
from refusals import refusal

from kerhrm.errors import KerhrmError
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
            changed.write_text("after")
            (target / "new").mkdir()
            (target / "new" / "file.csv").write_text("new")
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
            file.write_text("after")
            monkeypatch.setattr("kerhrm.files.os.replace", full)
            raise KerhrmError("the disk is full")

    with refusal(r"cannot put .* back as it was") as error:
        publish_nothing()
    (copy,) = copies.glob("*/before/table.csv")
    assert copy.read_text() == "before"
    assert str(copy.parent) in str(error.value)
