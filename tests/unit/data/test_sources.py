"""Raw files: order of the sources, verification, and what failures leave behind."""

import bz2
import hashlib
import os
import socket
import stat
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from refusals import refusal

from kerhrm_paper.data import sources
from kerhrm_paper.data.sources import RawData, RawDataUnavailable, RawFile

random = np.random.default_rng(1)
A = random.bytes(200_000)
B = b"second file\n" * 9


def published(name: str, content: bytes, *urls: str) -> RawFile:
    digest = hashlib.sha256(content).hexdigest()
    return RawFile(name, digest, len(content), urls)


FILES = (published("a.bin", A), published("b.txt", B))
CONTENT = {"a.bin": A, "b.txt": B}


MIRRORS: list[str] = []  # of the test


def locate(files: Sequence[RawFile] = FILES, raw_dir: Path | None = None) -> list[Path]:
    known = []
    for file in files:
        if not file.urls:
            urls = [f"{mirror}/{file.name}" for mirror in MIRRORS]
            file = replace(file, urls=tuple(urls))
        known.append(file)
    return sources.locate("pair", known, raw_dir)


def contents(paths: list[Path]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


def names(folder: Path) -> set[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name for path in files}


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
    folder = tmp_path / "cache"
    monkeypatch.setenv("KERHRM_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def mirrors(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Callable[..., None]:
    """Name the mirrors of the files."""

    def name(*urls: str) -> None:
        monkeypatch.setattr(f"{__name__}.MIRRORS", list(urls))

    return name


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
        cached = cache / "pair"
        first, _ = locate(FILES, argument)
        assert first == cached / "a.bin"
        fill(environment, {"a.bin": A})
        first, _ = locate(FILES, argument)
        assert first == environment / "a.bin"
        fill(argument, {"a.bin": A})
        expected = [argument / "a.bin", cached / "b.txt"]
        assert locate(FILES, argument) == expected

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
        with refusal("damaged") as caught:
            locate(FILES, raw)
        assert not isinstance(caught.value, RawDataUnavailable)
        (name,) = damaged
        assert str(raw / name) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.hint
        assert server.asked == []


def test_nothing_is_kept_where_nothing_is_to_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    serve: Callable,
    mirrors: Callable,
) -> None:
    """KERHRM_CACHE_DIR=none is no folder of that name."""
    server = serve(CONTENT)
    mirrors(server.url)
    monkeypatch.setenv("KERHRM_CACHE_DIR", "none")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    sources._passing_folder.cache_clear()
    assert contents(locate()) == CONTENT
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("kerhrm-")
    sources._passing_folder.cache_clear()


@dataclass(frozen=True)
class Pair(RawData):
    """Raw data of the two files."""

    first: np.ndarray
    source: str = "real"
    name = "pair"
    files = FILES

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        return cls(np.frombuffer(paths[0].read_bytes(), np.uint8))

    @classmethod
    def fallback(cls) -> Self:
        return cls(np.zeros(3, np.uint8), source="fallback:zeros")


def test_fallback_data_go_when_the_real_ones_are_there_or_none_are_wanted(
    tmp_path: Path, cache: Path
) -> None:
    path = tmp_path / "pair.npz"
    Pair.fallback().save(path)
    assert not Pair.replaceable(path)
    assert not Pair.replaceable(path, on_missing="fallback")
    assert Pair.replaceable(path, on_missing="fail")
    raw = fill(tmp_path / "raw")
    assert Pair.replaceable(path, raw)
    Pair.fetch(raw).save(path)
    assert not Pair.replaceable(path, raw, on_missing="fail")


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
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == 0o666 & ~umask

    @pytest.mark.parametrize("behaviour", ["cut", "plain"])
    def test_the_next_mirror_is_tried(
        self, cache: Path, serve: Callable, mirrors: Callable, behaviour: str
    ) -> None:
        files = {"a.bin": A} if behaviour == "cut" else {}
        bad = serve(files, behaviour)
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
        bad_urls = [server.url for server in bad]
        urls = [closed_port(), *bad_urls, "nowhere"]
        mirrors(*urls)
        with pytest.raises(RawDataUnavailable) as caught:
            locate()
        message = str(caught.value)
        assert "\n" not in message
        sources_of_a = [f"{url}/a.bin" for url in urls]
        for source in (cache / "pair" / "a.bin", *sources_of_a):
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
        cut = A[:100]
        fill(cache / "pair", {"a.bin": cut, "b.txt": B})
        assert contents(locate()) == CONTENT
        assert server.asked == ["/a.bin"]


def test_the_checksum_is_that_of_the_unpacked_file(
    cache: Path, serve: Callable
) -> None:
    server = serve({"b.bz2": bz2.compress(B)})
    packed = published("b.txt", B, f"{server.url}/b.bz2")
    paths = locate((packed,))
    assert contents(paths) == {"b.txt": B}
    assert names(cache) == {"b.txt"}
