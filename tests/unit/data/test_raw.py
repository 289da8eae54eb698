"""Raw files: order of the sources, verification, resuming, and what failures leave behind."""

import bz2
import gzip
import hashlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kerhrm.data import raw
from kerhrm.data.raw import KING_COUNTY, MNIST, RawDataUnavailable, RawFile, RawSet, locate
from kerhrm.errors import KerhrmError

REAL_FILES = os.environ.get("KERHRM_RAW_DIR")  # read before the tests' settings hide it

A = np.random.default_rng(1).bytes(200_000)
B = b"second file\n" * 9


def published(name: str, content: bytes, **more: object) -> RawFile:
    return RawFile(name, hashlib.sha256(content).hexdigest(), len(content), **more)  # type: ignore[arg-type]


FILES = (published("a.bin", A), published("b.txt", B))
PAIR = RawSet("pair", FILES)
CONTENT = {"a.bin": A, "b.txt": B}


def contents(paths: dict[str, Path]) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in paths.items()}


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()} - {".lock"}


def fill(folder: Path, files: dict[str, bytes] = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def closed_port() -> str:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


class TestFolders:
    @pytest.mark.parametrize("subfolder", ["pair", "."])
    def test_files_lie_in_the_sets_folder_or_in_the_raw_folder(
        self, tmp_path: Path, subfolder: str
    ) -> None:
        fill(tmp_path / subfolder)
        assert contents(locate(PAIR, tmp_path, download=False)) == CONTENT

    def test_argument_before_environment_before_cache(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        argument, environment, cache = (tmp_path / n for n in ("argument", "env", "cache"))
        fill(cache / "pair")
        monkeypatch.setenv("KERHRM_CACHE_DIR", str(cache))
        monkeypatch.setenv("KERHRM_RAW_DIR", str(environment))
        assert locate(PAIR, argument)["a.bin"] == cache / "pair" / "a.bin"
        fill(environment, {"a.bin": A})
        assert locate(PAIR, argument)["a.bin"] == environment / "a.bin"
        fill(argument, {"a.bin": A})
        paths = locate(PAIR, argument)
        assert paths == {"a.bin": argument / "a.bin", "b.txt": cache / "pair" / "b.txt"}

    @pytest.mark.parametrize(
        ("damaged", "word"), [(A[:-1], "truncated"), (A[:-1] + b"\0", "altered")]
    )
    def test_a_damaged_file_is_reported_and_nothing_takes_its_place(
        self, tmp_path: Path, serve: Callable, damaged: bytes, word: str
    ) -> None:
        server = serve(CONTENT)
        fill(tmp_path / "raw", {"a.bin": damaged})
        with pytest.raises(KerhrmError) as caught:
            locate(PAIR, tmp_path / "raw", tmp_path / "cache", mirrors=[server.url])
        message = str(caught.value)
        assert not isinstance(caught.value, RawDataUnavailable)
        for part in (
            str(tmp_path / "raw" / "a.bin"),
            word,
            FILES[0].sha256,
            hashlib.sha256(damaged).hexdigest(),
        ):
            assert part in message
        assert "\n" not in message
        assert caught.value.cure
        assert server.asked == []
        assert names(tmp_path / "cache") == set()

    def test_a_damaged_last_file_is_reported_before_the_first_is_fetched(
        self, tmp_path: Path, serve: Callable
    ) -> None:
        server = serve(CONTENT)
        fill(tmp_path / "raw", {"b.txt": b"?"})
        with pytest.raises(KerhrmError, match=r"b\.txt is truncated"):
            locate(PAIR, tmp_path / "raw", tmp_path / "cache", mirrors=[server.url])
        assert server.asked == []


class TestMirrors:
    def test_fetched_once_then_cached(self, tmp_path: Path, serve: Callable) -> None:
        server = serve(CONTENT)
        for _ in range(2):
            paths = locate(PAIR, cache_dir=tmp_path, mirrors=[server.url + "/"])
            assert contents(paths) == CONTENT
        assert server.asked == [("/a.bin", None), ("/b.txt", None)]
        assert names(tmp_path) == {"a.bin", "b.txt"}

    def test_the_next_mirror_is_tried_and_the_one_that_failed_comes_last(
        self, tmp_path: Path, serve: Callable
    ) -> None:
        empty, full = serve({}), serve(CONTENT)
        mirrors = [closed_port(), empty.url, full.url]
        assert contents(locate(PAIR, cache_dir=tmp_path, mirrors=mirrors)) == CONTENT
        assert [path for path, _ in empty.asked] == ["/a.bin"]
        assert [path for path, _ in full.asked] == ["/a.bin", "/b.txt"]

    def test_mirrors_of_argument_environment_and_set(
        self, tmp_path: Path, serve: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        built_in, environment, argument = (serve(CONTENT) for _ in range(3))
        pair = RawSet("pair", FILES[1:], (built_in.url,))
        locate(pair, cache_dir=tmp_path / "1")
        assert len(built_in.asked) == 1
        monkeypatch.setenv("KERHRM_MIRRORS", f" {closed_port()} , {environment.url},")
        locate(pair, cache_dir=tmp_path / "2")
        assert len(environment.asked) == 1
        locate(pair, cache_dir=tmp_path / "3", mirrors=[argument.url])
        assert len(argument.asked) == 1
        assert (len(built_in.asked), len(environment.asked)) == (1, 1)

    def test_all_fail_lists_every_source_on_one_line(
        self, tmp_path: Path, serve: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(raw, "READ_SECONDS", 0.05)
        mirrors = {
            closed_port(): "no connection",
            serve({}).url: "HTTP 404",
            serve({"a.bin": B}).url: "other bytes",
            serve(CONTENT, "mute").url: "no connection (ReadTimeout)",
            serve(CONTENT, "cut").url: "connection lost",
            "nowhere": "nowhere/a.bin",
        }
        with pytest.raises(RawDataUnavailable) as caught:
            locate(PAIR, tmp_path / "raw", tmp_path / "cache", mirrors=list(mirrors))
        message = str(caught.value)
        assert "\n" not in message
        assert f"{tmp_path / 'raw'}: no such file" in message
        assert f"{tmp_path / 'cache' / 'pair' / 'a.bin'}: no such file" in message
        for mirror, reason in mirrors.items():
            assert f"{mirror}/a.bin: " in message
            assert reason in message
        assert "pair/a.bin" in message
        assert FILES[0].sha256 in message
        # Half a file is there under the name of a part only.
        assert names(tmp_path / "cache") == {"a.bin.part"}

    @pytest.mark.parametrize("how", ["argument", "environment"])
    def test_offline(
        self, tmp_path: Path, serve: Callable, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        server = serve(CONTENT)
        if how == "environment":
            monkeypatch.setenv("KERHRM_OFFLINE", "1")
        with pytest.raises(RawDataUnavailable, match="downloads are switched off"):
            locate(
                PAIR,
                cache_dir=tmp_path / "cache",
                download=how == "environment",
                mirrors=[server.url],
            )
        assert server.asked == []
        assert not (tmp_path / "cache").exists()
        monkeypatch.setenv("KERHRM_OFFLINE", "0")
        assert contents(locate(PAIR, cache_dir=tmp_path, mirrors=[server.url])) == CONTENT

    def test_a_damaged_cache_is_replaced_and_said_so(
        self, tmp_path: Path, serve: Callable, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = serve(CONTENT)
        fill(tmp_path / "pair", {"a.bin": A[:100], "b.txt": B})
        with caplog.at_level(logging.WARNING):
            paths = locate(PAIR, cache_dir=tmp_path, mirrors=[server.url])
        assert contents(paths) == CONTENT
        assert server.asked == [("/a.bin", None)]
        assert "truncated" in caplog.text

    def test_an_unwritable_cache_names_the_variable(self, tmp_path: Path, serve: Callable) -> None:
        (tmp_path / "cache").write_text("a file where a folder should be")
        with pytest.raises(KerhrmError, match="KERHRM_CACHE_DIR") as caught:
            locate(PAIR, cache_dir=tmp_path / "cache", mirrors=[serve(CONTENT).url])
        assert not isinstance(caught.value, RawDataUnavailable)

    def test_two_at_once_fetch_once(self, tmp_path: Path, serve: Callable) -> None:
        server = serve(CONTENT)
        start, results = threading.Barrier(4), []

        def work() -> None:
            start.wait()
            results.append(contents(locate(PAIR, cache_dir=tmp_path, mirrors=[server.url])))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [CONTENT] * 4
        assert sorted(path for path, _ in server.asked) == ["/a.bin", "/b.txt"]

    def test_a_gzip_file_declared_as_encoding_is_kept_as_it_is(
        self, tmp_path: Path, serve: Callable
    ) -> None:
        packed = gzip.compress(A)
        server = serve({"a.gz": packed}, "labelled")
        one = RawSet("one", (published("a.gz", packed),))
        assert contents(locate(one, cache_dir=tmp_path, mirrors=[server.url])) == {"a.gz": packed}


class TestResume:
    ONE = RawSet("one", FILES[:1])

    def part(self, cache: Path, content: bytes) -> None:
        fill(cache / "one", {"a.bin.part": content})

    @pytest.mark.parametrize("start", [1, len(A) // 2, len(A) - 1, len(A)])
    @pytest.mark.parametrize("behaviour", ["resume", "plain"])
    def test_only_the_rest_is_asked_for(
        self, tmp_path: Path, serve: Callable, start: int, behaviour: str
    ) -> None:
        server = serve(CONTENT, behaviour)
        self.part(tmp_path, A[:start])
        paths = locate(self.ONE, cache_dir=tmp_path, mirrors=[server.url])
        assert contents(paths) == {"a.bin": A}
        assert server.asked == [("/a.bin", f"bytes={start}-")]
        assert names(tmp_path) == {"a.bin"}

    def test_a_broken_connection_is_continued_at_the_next_mirror(
        self, tmp_path: Path, serve: Callable
    ) -> None:
        cut, whole = serve(CONTENT, "cut"), serve(CONTENT)
        paths = locate(self.ONE, cache_dir=tmp_path, mirrors=[cut.url, whole.url])
        assert contents(paths) == {"a.bin": A}
        assert cut.asked == [("/a.bin", None)]
        assert whole.asked == [("/a.bin", f"bytes={len(A) // 2}-")]

    def test_a_broken_connection_is_continued_by_the_next_run(
        self, tmp_path: Path, serve: Callable
    ) -> None:
        server = serve(CONTENT, "cut")
        sizes = []
        for _ in range(3):
            with pytest.raises(RawDataUnavailable, match="resumes"):
                locate(self.ONE, cache_dir=tmp_path, mirrors=[server.url])
            (part,) = (tmp_path / "one").glob("*.part")
            assert A.startswith(part.read_bytes())
            assert names(tmp_path) == {"a.bin.part"}
            sizes.append(part.stat().st_size)
        assert sizes == [len(A) // 2, len(A) * 3 // 4, len(A) * 7 // 8]
        server.behaviour = "resume"
        paths = locate(self.ONE, cache_dir=tmp_path, mirrors=[server.url])
        assert contents(paths) == {"a.bin": A}

    @pytest.mark.parametrize("left", [b"not the beginning of it", A + b"and more"])
    def test_a_wrong_part_costs_one_more_request(
        self, tmp_path: Path, serve: Callable, left: bytes
    ) -> None:
        server = serve(CONTENT)
        self.part(tmp_path, left)
        paths = locate(self.ONE, cache_dir=tmp_path, mirrors=[server.url])
        assert contents(paths) == {"a.bin": A}
        assert server.asked == [("/a.bin", f"bytes={len(left)}-"), ("/a.bin", None)]
        assert names(tmp_path) == {"a.bin"}

    def test_nothing_is_kept_of_a_wrong_file(self, tmp_path: Path, serve: Callable) -> None:
        with pytest.raises(RawDataUnavailable, match="other bytes"):
            locate(self.ONE, cache_dir=tmp_path, mirrors=[serve({"a.bin": B}).url])
        assert names(tmp_path) == set()


class TestDecompression:
    def packed_set(self, url: str) -> RawSet:
        return RawSet(
            "packed", (published("b.txt", B, url=f"{url}/b.bz2", decompress=bz2.decompress),)
        )

    def test_the_checksum_is_that_of_the_unpacked_file(
        self, tmp_path: Path, serve: Callable
    ) -> None:
        server = serve({"b.bz2": bz2.compress(B)})
        assert contents(locate(self.packed_set(server.url), cache_dir=tmp_path)) == {"b.txt": B}
        assert names(tmp_path) == {"b.txt"}

    def test_mirrors_of_the_user_hold_the_unpacked_file(
        self, tmp_path: Path, serve: Callable
    ) -> None:
        built_in, own = serve({"b.bz2": bz2.compress(B)}), serve({"b.txt": B})
        paths = locate(self.packed_set(built_in.url), cache_dir=tmp_path, mirrors=[own.url])
        assert contents(paths) == {"b.txt": B}
        own.files.clear()
        with pytest.raises(RawDataUnavailable, match="HTTP 404"):
            locate(self.packed_set(built_in.url), cache_dir=tmp_path / "2", mirrors=[own.url])
        assert built_in.asked == []

    @pytest.mark.parametrize(
        "served", [b"no bz2", bz2.compress(B)[:-5], bz2.compress(A)], ids=["junk", "cut", "other"]
    )
    def test_junk_is_refused(self, tmp_path: Path, serve: Callable, served: bytes) -> None:
        server = serve({"b.bz2": served})
        with pytest.raises(RawDataUnavailable, match="other bytes"):
            locate(self.packed_set(server.url), cache_dir=tmp_path)
        assert names(tmp_path) == set()

    def test_a_broken_connection_resumes(self, tmp_path: Path, serve: Callable) -> None:
        packed = bz2.compress(B)
        server = serve({"b.bz2": packed}, "cut")
        with pytest.raises(RawDataUnavailable):
            locate(self.packed_set(server.url), cache_dir=tmp_path)
        server.behaviour = "resume"
        assert contents(locate(self.packed_set(server.url), cache_dir=tmp_path)) == {"b.txt": B}
        assert server.asked[-1] == ("/b.bz2", f"bytes={len(packed) // 2}-")


@pytest.mark.parametrize("raw_set", [MNIST, KING_COUNTY], ids=lambda s: s.name)
class TestPublishedSets:
    def test_every_file_can_be_verified_and_has_a_source(self, raw_set: RawSet) -> None:
        assert len({file.name for file in raw_set.files}) == len(raw_set.files)
        for file in raw_set.files:
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.size > 0
            assert raw_set.mirrors or file.url
        for url in (*raw_set.mirrors, *(file.url for file in raw_set.files if file.url)):
            assert url.startswith("https://")

    @pytest.mark.skipif(REAL_FILES is None, reason="KERHRM_RAW_DIR is not set")
    def test_the_files_in_the_raw_folder_are_the_published_ones(
        self, raw_set: RawSet, tmp_path: Path
    ) -> None:
        try:
            paths = locate(raw_set, REAL_FILES, tmp_path, download=False)
        except RawDataUnavailable as error:
            pytest.skip(str(error))
        for file in raw_set.files:
            assert paths[file.name].stat().st_size == file.size
