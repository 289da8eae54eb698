"""Raw public files: found on this machine or fetched from mirrors, always verified.

Sources are tried in this order: the ``raw_dir`` argument, the folder in the environment
variable ``KERHRM_RAW_DIR``, the cache (``KERHRM_CACHE_DIR``, by default the user's cache
folder), then the mirrors.  ``KERHRM_MIRRORS`` (addresses separated by commas) replaces
the built-in mirrors, and ``KERHRM_OFFLINE=1`` switches downloads off.  A file appears in
the cache whole or not at all, whoever else fetches it; a broken download begins anew.
"""

import bz2
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pooch
import requests

from kerhrm.errors import KerhrmError

TIMEOUT = (5, 30)  # seconds to connect, and between two bytes
MISSING = "no such file"
DAMAGED = "replace it by the published file or remove it"  # the cure


@dataclass(frozen=True)
class RawFile:
    """One published file, as it is used: what an address ending in ``.bz2`` sends is unpacked."""

    name: str
    sha256: str
    size: int  #: bytes
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class RawSet:
    """Files that belong together; ``name`` is also their folder's in raw folders and cache."""

    name: str
    files: tuple[RawFile, ...]


class RawDataUnavailable(KerhrmError):
    """A raw file is in no source; the message lists every source tried and its reason."""


def locate(raw_set: RawSet, raw_dir: str | os.PathLike[str] | None = None) -> list[Path]:
    """Find or fetch every file of a set: their verified paths, in the set's order.

    In a raw folder it is ``<folder>/<set>/<file>`` or ``<folder>/<file>``.

    Raises
    ------
    KerhrmError
        If a raw folder does not exist or a file in it is truncated or altered (it is never
        passed over), or if the cache cannot be written.
    RawDataUnavailable
        If a file is in no source.
    """
    folders = [Path(f).expanduser() for f in (raw_dir, os.environ.get("KERHRM_RAW_DIR")) if f]
    for folder in folders:
        if not folder.is_dir():
            raise KerhrmError(f"there is no folder {folder} of raw files", "correct its name")
    # All raw folders before any download: a damaged file is reported at once.
    at_hand = [_in_folders(raw_set, file, folders) for file in raw_set.files]
    cache = Path(os.environ.get("KERHRM_CACHE_DIR") or pooch.os_cache("kerhrm")).expanduser()
    missing = [f"{folder}: {MISSING}" for folder in folders]
    return [
        path or _in_cache(file, cache / raw_set.name, missing)
        for file, path in zip(raw_set.files, at_hand, strict=True)
    ]


def _defect(file: RawFile, path: Path) -> str | None:
    """Why ``path`` is not the published file; None if it is."""
    try:
        if not path.is_file():
            return MISSING
        size, found = path.stat().st_size, pooch.file_hash(path)
    except OSError as error:
        raise KerhrmError(f"cannot read {path}: {error.strerror}", "make it readable") from error
    if found == file.sha256:
        return None
    return (
        f"{'truncated' if size < file.size else 'altered'}: {size} bytes with sha256 {found}, "
        f"expected {file.size} bytes with sha256 {file.sha256}"
    )


def _in_folders(raw_set: RawSet, file: RawFile, folders: Sequence[Path]) -> Path | None:
    for path in (p for f in folders for p in (f / raw_set.name / file.name, f / file.name)):
        defect = _defect(file, path)
        if defect is None:
            return path
        if defect != MISSING:
            raise KerhrmError(f"{path} is {defect}", DAMAGED)
    return None


def _in_cache(file: RawFile, cache: Path, reasons: Sequence[str]) -> Path:
    """The file in the cache, if need be fetched from the first source that has it."""
    path = cache / file.name
    defect = _defect(file, path)
    if defect is None:
        return path
    reasons = [*reasons, f"{path}: {defect}"]
    offline = os.environ.get("KERHRM_OFFLINE", "") not in ("", "0")
    mirrors = [m.strip(" /") for m in os.environ.get("KERHRM_MIRRORS", "").split(",")]
    urls = [f"{mirror}/{file.name}" for mirror in mirrors if mirror] or file.urls
    for url in () if offline else urls:
        try:
            # pooch moves the file into place only if its sum is right.
            pooch.retrieve(url, file.sha256, file.name, cache, downloader=_download)
            return path
        except requests.RequestException as error:
            answer = error.response
            reason = type(error).__name__ if answer is None else f"HTTP {answer.status_code}"
            reasons.append(f"{url}: {reason}")
        except ValueError:
            reasons.append(f"{url}: sent other bytes than the published file")
        except OSError as error:
            raise KerhrmError(
                f"cannot write the cache {cache}: {error.strerror or error}",
                "free disk space or set KERHRM_CACHE_DIR to a folder that can be written",
            ) from error
    off = ", downloads are switched off" if offline else ""
    raise RawDataUnavailable(
        f"cannot get {cache.name}/{file.name} ({', '.join(reasons)}{off})",
        f"put the file with sha256 {file.sha256} into a folder and set KERHRM_RAW_DIR to that "
        "folder, or check the network and run again",
    )


def _download(url: str, output: str, _: object) -> None:
    def as_sent(response: requests.Response, **_: object) -> None:
        # Some servers declare a .gz file as encoded, and it would be unpacked.
        response.raw.headers.pop("Content-Encoding", None)

    pooch.HTTPDownloader(timeout=TIMEOUT, hooks={"response": as_sent})(url, output, None)
    if url.endswith(".bz2"):
        try:
            content = bz2.decompress(Path(output).read_bytes())
        except OSError as error:
            raise ValueError(f"cannot decompress: {error}") from error
        Path(output).write_bytes(content)
    os.chmod(output, 0o644)  # pooch's temporary files are their owner's alone
