"""Raw public files: read from this machine or downloaded from mirrors, always verified.

Sources are tried in this order: ``raw_dir``, the folder in the environment variable
``KERHRM_RAW_DIR``, the cache (``KERHRM_CACHE_DIR``, by default the user's cache
folder; with ``none`` downloads are not kept), then the mirrors, unless
``KERHRM_OFFLINE=1``.  A file appears in the cache complete or not at all.
"""

import atexit
import bz2
import functools
import logging
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import lazy_loader

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import File
from kerhrm_paper.runs.arrays import load_arrays, save_arrays
from kerhrm_paper.runs.cache import cache_folder

# it takes a fifth of a second, and every Snakemake imports this
pooch = lazy_loader.load("pooch")
requests = lazy_loader.load("requests")

TIMEOUT = (5, 30)  # seconds to connect, and between two bytes

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RawFile:
    """A published file, as it is used.

    A download whose address ends in ``.bz2`` is unpacked.
    """

    name: str
    sha256: str
    size: int  #: bytes
    urls: tuple[str, ...] = ()


class RawDataUnavailable(FileError):
    """A raw file is in no source; the message lists every source and its reason."""


class RawData(ABC):
    """Base of frozen dataclasses whose fields are arrays and ``source``."""

    #: of the data; that of synthetic fallback data begins with ``"fallback:"``
    source: str
    name: ClassVar[str]  #: also that of the folder among raw files and in the cache
    files: ClassVar[tuple[RawFile, ...]]

    @classmethod
    @abstractmethod
    def read(cls, paths: Sequence[Path]) -> Self:
        """Read the published files, which have been verified, in their order."""

    @classmethod
    @abstractmethod
    def fallback(cls) -> Self:
        """Synthetic data, so that everything runs.

        Results are not comparable with the paper.
        """

    @classmethod
    def fetch(
        cls,
        raw_dir: File | None = None,
        on_missing: Literal["fallback", "fail"] = "fail",
    ) -> Self:
        """Read the files of :func:`locate`.

        If they are missing raise, or warn and fall back.

        Fallback data never replace a damaged file.
        """
        try:
            paths = locate(cls.name, cls.files, raw_dir)
            return cls.read(paths)
        except RawDataUnavailable as error:
            if on_missing == "fail":
                raise
            data = cls.fallback()
            log.warning("using %s instead of %s: %s", data.source, cls.name, error)
            return data

    @property
    def is_fallback(self) -> bool:
        """Whether these are not the data of the paper."""
        return self.source.startswith("fallback:")

    @classmethod
    def replaceable(
        cls,
        path: File,
        raw_dir: File | None = None,
        on_missing: Literal["fallback", "fail"] = "fallback",
    ) -> bool:
        """Whether a file of :meth:`save` holds fallback data that must go: this machine
        has the real ones, or none are wanted.

        A file that cannot be read is left to the job that reads it.
        """
        try:
            if not cls.load(path).is_fallback:
                return False
            if on_missing == "fail":
                return True
            paths = locate(cls.name, cls.files, raw_dir, offline=True)
            return bool(paths)
        except KerhrmError:
            return False

    def save(self, path: File) -> None:
        """Write one file that :meth:`load` reads."""
        arrays = dict(vars(self))
        source = arrays.pop("source")
        save_arrays(path, arrays, source=source)

    @classmethod
    def load(cls, path: File) -> Self:
        """Read what :meth:`save` wrote."""
        arrays, meta = load_arrays(path)
        return cls(**arrays, **meta)


def locate(
    name: str,
    files: Sequence[RawFile],
    raw_dir: File | None = None,
    offline: bool = False,
) -> list[Path]:
    """Verified paths of all files, in order.

    Downloaded where necessary, unless ``offline``.

    In a raw folder a file is ``FOLDER/NAME/FILE`` or ``FOLDER/FILE``.

    Raises KerhrmError if a raw folder does not exist, a file in it is damaged, or the
    cache cannot be written, and RawDataUnavailable if a file is in no source.
    """
    folders = _raw_folders(raw_dir)
    # All raw folders before any download: a damaged file is reported at once.
    paths = [_in_folders(file, name, folders) for file in files]
    kept = cache_folder(lambda: pooch.os_cache("kerhrm"))
    cache = (kept or _passing_folder()) / name
    reasons = [f"{folder}: no such file" for folder in folders]
    located = []
    for file, path in zip(files, paths, strict=True):
        if path is None:
            path = _in_cache(file, cache, [*reasons], offline)
        located.append(path)
    return located


@functools.cache
def _passing_folder() -> Path:
    """Where downloads lie that are not kept: until this process ends."""
    folder = tempfile.mkdtemp(prefix="kerhrm-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _raw_folders(raw_dir: File | None) -> list[Path]:
    """Folders that may hold raw files, all of which exist."""
    given = (raw_dir, os.environ.get("KERHRM_RAW_DIR"))
    folders = [Path(folder).expanduser() for folder in given if folder]
    for folder in folders:
        if not folder.is_dir():
            problem = f"the folder of raw data {folder} does not exist"
            hint = "correct raw_dir or KERHRM_RAW_DIR, or leave it out"
            raise FileError(problem, hint)
    return folders


def _in_folders(file: RawFile, name: str, folders: Sequence[Path]) -> Path | None:
    """The first raw folder's file, verified; None if no folder has it."""
    for folder in folders:
        places = (folder / name / file.name, folder / file.name)
        for path in places:
            if not path.is_file():
                continue
            if pooch.file_hash(path) != file.sha256:
                problem = f"{path} is damaged: its sha256 is not {file.sha256}"
                hint = "replace it by the published file or remove it"
                raise KerhrmError(problem, hint)
            return path
    return None


def _in_cache(file: RawFile, cache: Path, reasons: list[str], offline: bool) -> Path:
    """The file in the cache, downloaded from the first mirror that has it."""
    path = cache / file.name
    is_there = path.is_file()
    if is_there and pooch.file_hash(path) == file.sha256:
        return path
    state = "damaged" if is_there else "no such file"
    reasons.append(f"{path}: {state}")
    switch = os.environ.get("KERHRM_OFFLINE", "")
    offline = offline or switch not in ("", "0")
    urls = () if offline else file.urls
    for url in urls:
        reason = _retrieve(url, file, cache)
        if reason is None:
            return path
        reasons.append(reason)
    if offline:
        reasons[-1] += ", downloads are switched off"
    problem = f"cannot get {cache.name}/{file.name} ({', '.join(reasons)})"
    hint = f"put the file with sha256 {file.sha256} into a folder and set "
    hint += "KERHRM_RAW_DIR to that folder, or check the network and run again"
    raise RawDataUnavailable(problem, hint)


def _retrieve(url: str, file: RawFile, cache: Path) -> str | None:
    """Download a file into the cache; the reason if a mirror does not have it."""
    download = functools.partial(_download, file.size)
    try:
        # pooch moves the file into place only if its sum is right.
        pooch.retrieve(url, file.sha256, file.name, cache, downloader=download)
    except requests.RequestException as error:
        default = type(error).__name__
        reason = getattr(error.response, "reason", default)
        return f"{url}: {reason}"
    except ValueError:
        return f"{url}: sent other bytes than the published file"
    except OSError as error:
        problem = f"cannot write the cache {cache}: {error.strerror or error}"
        hint = "free disk space or set KERHRM_CACHE_DIR to a folder that can be written"
        raise KerhrmError(problem, hint) from error
    return None


def _download(size: int, url: str, output: str, _: object) -> None:
    """Download for pooch: ``.gz`` stays as sent, and of ``.bz2`` ``size`` bytes are
    unpacked."""
    hooks = {"response": _as_sent}
    download = pooch.HTTPDownloader(timeout=TIMEOUT, hooks=hooks)
    download(url, output, None)
    target = Path(output)
    if url.endswith(".bz2"):
        try:  # no more than the published file has: a small archive may hold gigabytes
            packed = target.read_bytes()
            unpacked = bz2.BZ2Decompressor().decompress(packed, size + 1)
        except OSError as error:
            raise ValueError(f"cannot decompress: {error}") from error
        target.write_bytes(unpacked)
    umask = os.umask(0)
    os.umask(umask)
    target.chmod(0o666 & ~umask)  # pooch's temporary files are only their owner's


def _as_sent(response: Any, **_: object) -> None:
    """Some servers declare a .gz file as encoded, and it would be unpacked."""
    response.raw.headers.pop("Content-Encoding", None)
