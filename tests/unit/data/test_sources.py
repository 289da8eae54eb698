"""Raw files: order of the sources, verification, and what failures leave behind."""

import bz2
import hashlib
import os
import socket
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kerhrm.errors import KerhrmError
from kerhrm_paper.data import sources
from kerhrm_paper.data.sources import RawDataUnavailable, RawFile

A = np.random.default_rng(1).bytes(200_000)
B = b"second file\n" * 9


def published(name: str, content: bytes, *urls: str) -> RawFile:
    digest = hashlib.sha256(content).hexdigest()
    return RawFile(name, digest, len(content), urls)


FILES = (published("a.bin", A), published("b.txt", B))
CONTENT = {"a.bin": A, "b.txt": B}


MIRRORS: list[str] = []  # of the test


def locate(files: Sequence[RawFile] = FILES, raw_dir: Path | None = None) -> list[Path]:
    urls = {file.name: tuple(f"{url}/{file.name}" for url in MIRRORS) for file in files}
    known = [
        file if file.urls else replace(file, urls=urls[file.name]) for file in files
    ]
    return sources.locate("pair", known, raw_dir)


def contents(paths: list[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def fill(folder: Path, files: dict[str, bytes] = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def closed_port() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def mirrors(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Callable[..., None]:
    """Name the mirrors of the files."""
    return lambda *urls: monkeypatch.setattr(f"{__name__}.MIRRORS", list(urls))


class TestFolders:
    @pytest.mark.parametrize("subfolder", ["pair", "."])
    def test_files_lie_in_the_sets_folder_or_in_the_raw_folder(
        self, tmp_path: Path, subfolder: str
    ) -> None:
        fill(tmp_path / subfolder)
        assert contents(locate(FILES, tmp_path)) == CONTENT

    def test_argument_before_environment_before_cache(
        self, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        argument = fill(tmp_path / "argument", {})
        environment = fill(tmp_path / "environment", {})
        fill(cache / "pair")
        monkeypatch.setenv("KERHRM_RAW_DIR", str(environment))
        assert locate(FILES, argument)[0] == cache / "pair" / "a.bin"
        fill(environment, {"a.bin": A})
        assert locate(FILES, argument)[0] == environment / "a.bin"
        fill(argument, {"a.bin": A})
        assert locate(FILES, argument) == [argument / "a.bin", cache / "pair" / "b.txt"]

    @pytest.mark.parametrize("damaged", [{"a.bin": A[:-1]}, {"b.txt": B[:-1] + b"\0"}])
    def test_a_damaged_file_is_reported_and_nothing_is_fetched(
        self,
        tmp_path: Path,
        serve: Callable,
        mirrors: Callable,
        damaged: dict[str, bytes],
    ) -> None:
        server = serve(CONTENT)
        mirrors(server.url)
        raw = fill(tmp_path / "raw", damaged)
        with pytest.raises(KerhrmError, match="damaged") as caught:
            locate(FILES, raw)
        assert not isinstance(caught.value, RawDataUnavailable)
        assert str(raw / next(iter(damaged))) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.hint
        assert server.asked == []


class TestMirrors:
    def test_fetched_once_then_cached(
        self, cache: Path, serve: Callable, mirrors: Callable
    ) -> None:
        server = serve(CONTENT)
        mirrors(server.url)
        for _ in range(2):
            assert contents(locate()) == CONTENT
        assert server.asked == ["/a.bin", "/b.txt"]
        assert names(cache) == {"a.bin", "b.txt"}
        os.umask(umask := os.umask(0))
        for path in locate():  # others may read a cache that is shared
            assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask

    @pytest.mark.parametrize("behaviour", ["cut", "plain"])
    def test_the_next_mirror_is_tried(
        self, cache: Path, serve: Callable, mirrors: Callable, behaviour: str
    ) -> None:
        bad = serve({"a.bin": A} if behaviour == "cut" else {}, behaviour)
        full = serve(CONTENT)
        mirrors(closed_port(), bad.url, full.url)
        assert contents(locate()) == CONTENT
        assert bad.asked == full.asked == ["/a.bin", "/b.txt"]
        assert names(cache) == {"a.bin", "b.txt"}

    def test_all_fail_lists_every_source_on_one_line(
        self,
        cache: Path,
        serve: Callable,
        mirrors: Callable,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(sources, "TIMEOUT", 0.05)
        bad = [
            serve({}),
            serve({"a.bin": B}),
            serve(CONTENT, "mute"),
            serve(CONTENT, "cut"),
        ]
        urls = [closed_port(), *(server.url for server in bad), "nowhere"]
        mirrors(*urls)
        with pytest.raises(RawDataUnavailable) as caught:
            locate()
        message = str(caught.value)
        assert "\n" not in message
        for source in (cache / "pair" / "a.bin", *(f"{url}/a.bin" for url in urls)):
            assert f"{source}: " in message
        assert FILES[0].sha256 in message
        assert names(cache) == set()

    def test_offline(
        self,
        cache: Path,
        serve: Callable,
        mirrors: Callable,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        server = serve(CONTENT)
        mirrors(server.url)
        monkeypatch.setenv("KERHRM_OFFLINE", "1")
        with pytest.raises(RawDataUnavailable, match="downloads are switched off"):
            locate()
        assert server.asked == []
        assert not cache.exists()
        monkeypatch.setenv("KERHRM_OFFLINE", "0")
        assert contents(locate()) == CONTENT

    def test_a_damaged_cache_is_replaced(
        self, cache: Path, serve: Callable, mirrors: Callable
    ) -> None:
        server = serve(CONTENT)
        mirrors(server.url)
        fill(cache / "pair", {"a.bin": A[:100], "b.txt": B})
        assert contents(locate()) == CONTENT
        assert server.asked == ["/a.bin"]


def test_the_checksum_is_that_of_the_unpacked_file(
    cache: Path, serve: Callable
) -> None:
    server = serve({"b.bz2": bz2.compress(B)})
    assert contents(locate((published("b.txt", B, f"{server.url}/b.bz2"),))) == {
        "b.txt": B
    }
    assert names(cache) == {"b.txt"}
