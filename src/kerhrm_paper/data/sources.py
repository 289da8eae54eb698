"""Raw public files: read from this machine or downloaded from mirrors, always verified.

Sources are tried in this order: ``raw_dir``, the folder in the environment variable
``KERHRM_RAW_DIR``, the cache (``KERHRM_CACHE_DIR``, by default the user's cache
folder), then the mirrors, unless ``KERHRM_OFFLINE=1``.  A file appears in the cache
complete or not at all.
"""

import bz2
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import lazy_loader

from kerhrm.errors import FileError, KerhrmError
from kerhrm.files import File
from kerhrm_paper.runs.arrays import load_arrays, save_arrays

# it takes a fifth of a second, and every Snakemake imports this
pooch, requests = lazy_loader.load("pooch"), lazy_loader.load("requests")

TIMEOUT = (5, 30)  # seconds to connect, and between two bytes

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RawFile:
    """A published file, as it is used.

    a download whose address ends in ``.bz2`` is unpacked.
    """

    name: str
    sha256: str
    size: int  #: bytes
    urls: tuple[str, ...] = ()


class RawDataUnavailable(FileError):
    """A raw file is in no source; the message lists every source and its reason."""


class RawData(ABC):
    """Base of frozen dataclasses whose fields are arrays and ``source``."""

    source: (
        str  #: of the data; that of synthetic fallback data begins with ``"fallback:"``
    )
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
            return cls.read(locate(cls.name, cls.files, raw_dir))
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
    def replaceable(cls, path: File, raw_dir: File | None = None) -> bool:
        """Whether a file of :meth:`save` holds fallback data, but this machine has the
        real ones.

        A file that cannot be read is left to the job that reads it.
        """
        try:
            if not cls.load(path).is_fallback:
                return False
            return bool(locate(cls.name, cls.files, raw_dir, offline=True))
        except KerhrmError:
            return False

    def save(self, path: File) -> None:
        """Write one file that :meth:`load` reads."""
        arrays = {name: array for name, array in vars(self).items() if name != "source"}
        save_arrays(path, arrays, source=self.source)

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
    folders = [
        Path(f).expanduser() for f in (raw_dir, os.environ.get("KERHRM_RAW_DIR")) if f
    ]
    for folder in folders:
        if not folder.is_dir():
            problem = f"the folder of raw data {folder} does not exist"
            raise FileError(
                problem, "correct raw_dir or KERHRM_RAW_DIR, or leave it out"
            )
    cache = (
        Path(
            os.environ.get("KERHRM_CACHE_DIR") or pooch.os_cache("kerhrm")
        ).expanduser()
        / name
    )
    # All raw folders before any download: a damaged file is reported at once.
    found: list[Path | None] = []
    for file in files:
        paths = [
            path for f in folders for path in (f / name / file.name, f / file.name)
        ]
        found.append(path := next((path for path in paths if path.is_file()), None))
        if path and pooch.file_hash(path) != file.sha256:
            problem = f"{path} is damaged: its sha256 is not {file.sha256}"
            raise KerhrmError(problem, "replace it by the published file or remove it")
    return [
        path
        or _in_cache(
            file, cache, [f"{folder}: no such file" for folder in folders], offline
        )
        for file, path in zip(files, found, strict=True)
    ]


def _in_cache(file: RawFile, cache: Path, reasons: list[str], offline: bool) -> Path:
    """The file in the cache, downloaded from the first mirror that has it."""
    path = cache / file.name
    if path.is_file() and pooch.file_hash(path) == file.sha256:
        return path
    reasons.append(f"{path}: {'damaged' if path.is_file() else 'no such file'}")
    offline = offline or os.environ.get("KERHRM_OFFLINE", "") not in ("", "0")
    for url in () if offline else file.urls:
        try:
            # pooch moves the file into place only if its sum is right.
            download = partial(_download, file.size)
            pooch.retrieve(url, file.sha256, file.name, cache, downloader=download)
            return path
        except requests.RequestException as error:
            reasons.append(
                f"{url}: {getattr(error.response, 'reason', type(error).__name__)}"
            )
        except ValueError:
            reasons.append(f"{url}: sent other bytes than the published file")
        except OSError as error:
            problem = f"cannot write the cache {cache}: {error.strerror or error}"
            hint = (
                "free disk space or set KERHRM_CACHE_DIR to a folder that can be "
                "written"
            )
            raise KerhrmError(problem, hint) from error
    off = ", downloads are switched off" if offline else ""
    raise RawDataUnavailable(
        f"cannot get {cache.name}/{file.name} ({', '.join(reasons)}{off})",
        f"put the file with sha256 {file.sha256} into a folder and set "
        "KERHRM_RAW_DIR to that "
        "folder, or check the network and run again",
    )


def _download(size: int, url: str, output: str, _: object) -> None:
    """Download for pooch: ``.gz`` stays as sent, and of ``.bz2`` ``size`` bytes are
    unpacked."""
    pooch.HTTPDownloader(timeout=TIMEOUT, hooks={"response": _as_sent})(
        url, output, None
    )
    target = Path(output)
    if url.endswith(".bz2"):
        try:  # no more than the published file has: a small archive may hold gigabytes
            unpacked = bz2.BZ2Decompressor().decompress(target.read_bytes(), size + 1)
        except OSError as error:
            raise ValueError(f"cannot decompress: {error}") from error
        target.write_bytes(unpacked)
    umask = os.umask(0)
    os.umask(umask)
    target.chmod(0o666 & ~umask)  # pooch's temporary files are only their owner's


def _as_sent(response: Any, **_: object) -> None:
    """Some servers declare a .gz file as encoded, and it would be unpacked."""
    response.raw.headers.pop("Content-Encoding", None)
