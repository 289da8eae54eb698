"""What is kept between processes: used while it is whole, made again if it is not."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kerhrm_paper.runs import cache

CONTENT = {"a": [1, 2.5, None], "b": {"c": "ü\n"}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def file(facts: Any = 1) -> Path:
    path = cache.cache_file("kind", facts)
    assert path is not None
    return path


def test_what_is_kept_is_read(folder: Path) -> None:
    assert cache.load(file()) is None
    cache.save(file(), CONTENT)
    assert cache.load(file()) == CONTENT
    assert file(2) != file() == file(1)
    assert file().is_relative_to(folder)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(500))


def other(path: Path) -> None:
    path.write_text(json.dumps({"preset": "paper"}))


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def deepen(path: Path) -> None:
    path.write_text("[" * 100_000)


DAMAGES = [cut, change, empty, garbage, other, make_folder, deepen]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_counts_as_absent(folder: Path, damage: Any) -> None:
    cache.save(file(), CONTENT)
    damage(file())
    assert cache.load(file()) is None
    cache.save(file(), CONTENT)  # no error, where a folder is in the way
    assert cache.load(file()) == (None if damage is make_folder else CONTENT)


def test_nothing_is_kept_where_nothing_can_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.save(file(), CONTENT)
    shutil.rmtree(folder)
    folder.touch()  # a file in the place of the folder
    cache.save(file(), CONTENT)
    assert cache.load(file()) is None
    monkeypatch.setenv("KERHRM_CACHE_DIR", "none")
    assert cache.cache_file("kind", 1) is None
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("KERHRM_CACHE_DIR", "~/kept")  # a file of settings has no shell
    kept = cache.cache_file("kind", 1)
    assert kept is not None
    assert kept.parents[1] == folder.parent / "kept"
    monkeypatch.setenv("KERHRM_CACHE_DIR", "~no-such-user/kept")
    assert cache.cache_file("kind", 1) is None
    monkeypatch.setenv("KERHRM_CACHE_DIR", "x" * 5000)
    cache.save(file(), CONTENT)
    assert cache.load(file()) is None
