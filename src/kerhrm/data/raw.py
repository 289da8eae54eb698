"""Raw public files: found on this machine or fetched from mirrors, always verified.

Sources are tried in this order: the ``raw_dir`` argument, the folder in the environment
variable ``KERHRM_RAW_DIR``, the cache (``KERHRM_CACHE_DIR``, by default the user's cache
folder), then the mirrors.  ``KERHRM_MIRRORS`` (addresses separated by commas) replaces
the built-in mirrors, and ``KERHRM_OFFLINE=1`` switches downloads off.
"""

import bz2
import contextlib
import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pooch
import requests
from urllib3.exceptions import HTTPError as BrokenStream

from kerhrm.errors import KerhrmError

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 5
READ_SECONDS = 30
CHUNK_BYTES = 1 << 16
MISSING = "no such file"


@dataclass(frozen=True)
class RawFile:
    """One published file.

    Attributes
    ----------
    name : str
    sha256 : str
        Of the file as it is used, that is after any decompression.
    size : int
        Bytes, likewise.
    url : str, optional
        A full address of this file alone, tried after the mirrors of its set.
    decompress : callable, optional
        Turns the bytes found at ``url`` into the file; mirrors hold it as it is.
    """

    name: str
    sha256: str
    size: int
    url: str | None = None
    decompress: Callable[[bytes], bytes] | None = None


@dataclass(frozen=True)
class RawSet:
    """Files that belong together.

    Attributes
    ----------
    name : str
        Also the folder in which the files lie in a raw folder and in the cache.
    files : tuple of RawFile
    mirrors : tuple of str
        Addresses to which a file's name is appended.
    """

    name: str
    files: tuple[RawFile, ...]
    mirrors: tuple[str, ...] = ()


MNIST = RawSet(
    "mnist",
    (
        RawFile(
            "train-images-idx3-ubyte.gz",
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            9912422,
        ),
        RawFile(
            "train-labels-idx1-ubyte.gz",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            28881,
        ),
        RawFile(
            "t10k-images-idx3-ubyte.gz",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            1648877,
        ),
        RawFile(
            "t10k-labels-idx1-ubyte.gz",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            4542,
        ),
    ),
    (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
)

KING_COUNTY = RawSet(
    "king_county",
    (
        RawFile(
            "kc_house_data.csv",
            "d0875baa0251b21d4bdc9d2ae940a4fe0bb6009824f23dd0e2a5b2bf04557b7e",
            2515206,
            url="https://raw.githubusercontent.com/mlr-org/mlr3data/"
            "85e5790c5fd54aa68a64eb4ee931b75c5b7bcb2f/data-raw/kc_housing.csv.bz2",
            decompress=bz2.decompress,
        ),
    ),
)


class RawDataUnavailable(KerhrmError):
    """A raw file is in no source; the message lists every source tried and its reason."""


def locate(
    raw_set: RawSet,
    raw_dir: str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    mirrors: Sequence[str] | None = None,
) -> dict[str, Path]:
    """Find or fetch every file of a set.

    Parameters
    ----------
    raw_set : RawSet
    raw_dir : path, optional
        Folder looked into first, at ``<raw_dir>/<set>/<file>`` and ``<raw_dir>/<file>``.
    cache_dir : path, optional
        Replaces ``KERHRM_CACHE_DIR``; files are kept in ``<cache_dir>/<set>``.
    download : bool
        False does without the mirrors, as ``KERHRM_OFFLINE=1`` does.
    mirrors : sequence of str, optional
        Replaces ``KERHRM_MIRRORS`` and the built-in addresses.

    Returns
    -------
    dict of str to Path
        Verified path of every file, by name.

    Raises
    ------
    KerhrmError
        If a file in a raw folder is truncated or altered (it is never passed over), or if
        the cache cannot be written.
    RawDataUnavailable
        If a file is in no source.
    """
    folders = [
        Path(folder).expanduser()
        for folder in (raw_dir, os.environ.get("KERHRM_RAW_DIR"))
        if folder
    ]
    # All raw folders before any download: a damaged file is reported at once.
    at_hand = {file.name: _in_folders(raw_set, file, folders) for file in raw_set.files}
    cache = _cache_folder(cache_dir) / raw_set.name
    sources = _Sources(raw_set, mirrors)
    offline = not download or os.environ.get("KERHRM_OFFLINE", "") not in ("", "0")

    paths = {}
    for file in raw_set.files:
        path = at_hand[file.name]
        if path is None:
            path = cache / file.name
            reasons = [f"{folder}: {MISSING}" for folder in folders]
            defect = _defect(file, path)
            if defect:
                reasons.append(f"{path}: {defect}")
                if offline:
                    reasons.append("downloads are switched off")
                else:
                    reasons += _fetch(file, path, sources)
            # Judged by the file itself, since another process may have fetched it.
            if _defect(file, path):
                raise RawDataUnavailable(
                    f"cannot get {raw_set.name}/{file.name} ({', '.join(reasons)})",
                    f"put the file with sha256 {file.sha256} into a folder and set "
                    "KERHRM_RAW_DIR to that folder, or check the network and run again",
                )
        paths[file.name] = path
    return paths


def _cache_folder(cache_dir: str | os.PathLike[str] | None) -> Path:
    chosen = cache_dir or os.environ.get("KERHRM_CACHE_DIR")
    return Path(chosen).expanduser() if chosen else Path(pooch.os_cache("kerhrm"))


def _defect(file: RawFile, path: Path) -> str | None:
    """Why ``path`` is not the published file; None if it is."""
    try:
        if not path.is_file():
            return MISSING
        size, found = path.stat().st_size, pooch.file_hash(str(path), alg="sha256")
    except OSError as error:
        raise KerhrmError(
            f"cannot read {path}: {error.strerror or error}", "make it readable or remove it"
        ) from error
    if found == file.sha256:
        return None
    return (
        f"{'truncated' if size < file.size else 'altered'}: {size} bytes with sha256 {found}, "
        f"expected {file.size} bytes with sha256 {file.sha256}"
    )


def _in_folders(raw_set: RawSet, file: RawFile, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        for path in (folder / raw_set.name / file.name, folder / file.name):
            defect = _defect(file, path)
            if defect is None:
                return path
            if defect != MISSING:
                raise KerhrmError(
                    f"{path} is {defect}", "replace it by the published file or remove it"
                )
    return None


class _Sources:
    """Addresses of the files of a set; those that failed come last for the next file."""

    def __init__(self, raw_set: RawSet, mirrors: Sequence[str] | None) -> None:
        if mirrors is None:
            listed = os.environ.get("KERHRM_MIRRORS", "").split(",")
            mirrors = [mirror.strip() for mirror in listed if mirror.strip()] or None
        self.replaced = mirrors is not None
        self.mirrors = list(raw_set.mirrors if mirrors is None else mirrors)

    def of(self, file: RawFile) -> Iterator[tuple[str, Callable[[bytes], bytes] | None]]:
        """Address and decompression, one source after another."""
        for mirror in list(self.mirrors):
            yield f"{mirror.rstrip('/')}/{file.name}", None
            # Asked for the next source, so this one failed.
            self.mirrors.remove(mirror)
            self.mirrors.append(mirror)
        if file.url and not self.replaced:
            yield file.url, file.decompress


def _fetch(file: RawFile, target: Path, sources: _Sources) -> list[str]:
    """Fetch ``target`` from the first source that has it; the reasons of those that failed."""
    reasons = []
    try:
        with _alone(target.parent):
            defect = _defect(file, target)
            if defect is None:
                return []
            if defect != MISSING:
                logger.warning("%s is %s; fetching it again", target, defect)
                target.unlink()
            for url, decompress in sources.of(file):
                try:
                    _fetch_from(url, decompress, file, target)
                    break
                except (requests.RequestException, BrokenStream, ValueError) as error:
                    reasons.append(f"{url}: {_reason(error)}")
                    logger.info("cannot fetch %s", reasons[-1])
    except OSError as error:
        raise KerhrmError(
            f"cannot write the cache {target.parent}: {error.strerror or error}",
            "free disk space or set KERHRM_CACHE_DIR to a folder that can be written",
        ) from error
    return reasons


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep two processes from writing the same partial file."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as handle:
        # Some network file systems have no locks; the checksum still guards the result.
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _fetch_from(
    url: str, decompress: Callable[[bytes], bytes] | None, file: RawFile, target: Path
) -> None:
    """Fetch one file from one address, resuming what an earlier attempt left.

    Raises
    ------
    ValueError
        If the bytes are not the published file; nothing of them is kept.
    requests.RequestException, urllib3.exceptions.HTTPError
        If the transfer fails; the bytes so far stay in ``<name>.part``.
    """
    part = target.with_name(f"{url.rsplit('/', 1)[-1]}.part")

    def hand_over(url: str, output: str, _pooch: object) -> None:
        _receive(url, part)
        if decompress is not None:
            packed = part.read_bytes()
            try:
                unpacked = decompress(packed)
            except (OSError, EOFError) as error:
                raise ValueError(f"cannot decompress: {error}") from error
            part.write_bytes(unpacked)
        os.replace(part, output)

    while True:
        resumed = part.exists()
        try:
            # pooch checks the sum and moves the file into place only if it is right.
            pooch.retrieve(
                url,
                known_hash=f"sha256:{file.sha256}",
                fname=target.name,
                path=target.parent,
                downloader=hand_over,
            )
            return
        except requests.RequestException:  # some of them are ValueErrors
            raise
        except ValueError:
            part.unlink(missing_ok=True)
            # Perhaps the old part was at fault, not this source: once more from zero.
            if not resumed:
                raise


def _receive(url: str, part: Path) -> None:
    """Complete ``part`` with what the server has beyond it."""
    start = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    with requests.get(
        url, headers=headers, stream=True, timeout=(CONNECT_SECONDS, READ_SECONDS)
    ) as response:
        if start and response.status_code == requests.codes.requested_range_not_satisfiable:
            return  # The part has all the bytes there are: the checksum decides.
        response.raise_for_status()
        # 200 instead of 206: the server ignores Range and sends everything.
        partial = response.status_code == requests.codes.partial_content
        with part.open("ab" if partial else "wb") as handle:
            # Raw bytes: some servers declare a .gz file as encoded, and it would be unpacked.
            for chunk in response.raw.stream(CHUNK_BYTES, decode_content=False):
                handle.write(chunk)


def _reason(error: Exception) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code}"
    if isinstance(error, requests.Timeout | requests.ConnectionError):
        return f"no connection ({type(error).__name__})"
    if isinstance(error, BrokenStream):
        return f"connection lost ({type(error).__name__}), the next attempt resumes"
    if isinstance(error, requests.RequestException):
        return str(error)
    return "sent other bytes than the published file"
