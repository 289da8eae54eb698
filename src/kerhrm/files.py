"""Files that are written atomically.

A file appears under its name only when it is complete: it is written under another name
in the same folder, flushed, and moved into place by ``os.replace``.  Its mode follows
the umask.
"""

import contextlib
import errno
import gzip
import os
import shlex
import stat
import uuid
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from kerhrm.errors import FileError, escaped

File = str | os.PathLike[str]
#: called with a complete file and the path that it takes next
Observer = Callable[[Path, Path], None]
_OBSERVER: ContextVar[Observer | None] = ContextVar("observer", default=None)
PART = ".part"  #: ending of files that are not complete
#: what helps where the system refuses a path, whatever is done with it
PATH_CURES = {
    errno.ELOOP: "correct its links, which lead in a circle",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ENOTDIR: "correct the path: one of its folders is a file",
}
#: what helps where the system refuses to read a path
CURES = PATH_CURES | {
    errno.EACCES: "make it readable, and the folders above it",
    errno.ENOENT: "give the path of something that exists",
    errno.ENOSPC: "free disk space",
}
#: where it refuses to write one
WRITING_CURES = PATH_CURES | {
    errno.EEXIST: "correct the path: one of its folders is a file, or a dead link",
    errno.EINVAL: "give another path",
    errno.ENOENT: "give another path: no folder can be made there",
}
#: where the same path can be written later
AGAIN = "then run the same command again"
LATER_CURES = {
    errno.EACCES: "make the folder writable",
    errno.EDQUOT: "free disk space",
    errno.ENOSPC: "free disk space",
    errno.EPERM: "make the folder writable",
    errno.EROFS: "make the folder writable",
}
#: what is read only once, or never ends
SPECIAL = {
    stat.S_IFBLK: "device",
    stat.S_IFCHR: "device",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


def cure(error: OSError) -> str:
    """What helps against an error of the system."""
    return CURES.get(error.errno or 0, "check the path, and the disk that it is on")


def unreadable(path: File, error: OSError) -> FileError:
    """The error of a file or folder that the system does not let us read."""
    problem = f"{path} cannot be read"
    if not isinstance(error, PermissionError):  # whose cure says as much
        problem += f" ({error.strerror})"
    return FileError(problem, cure(error))


def check_regular(path: File, hint: str = "give the path of a file") -> None:
    """Refuse a pipe, socket or device: opening one may wait forever.

    What is not there, or is a folder, is refused where it is read.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    kind = SPECIAL.get(stat.S_IFMT(mode))
    if kind:
        raise FileError(f"{path} is a {kind}, not a file", hint)


def unwritable(path: File, error: OSError, verb: str = "write") -> FileError:
    """The error of a file that the system does not let us write, or lock."""
    number = error.errno or 0
    hint = WRITING_CURES.get(number)
    if os.path.isdir(path):  # false, too, where the name is too long
        hint = f"move this folder away, {AGAIN}"
    elif os.path.islink(path) and number == errno.ELOOP:  # which no lock follows
        hint = f"move this link away, {AGAIN}"
    elif hint is None:
        later = LATER_CURES.get(number, "free disk space or make the folder writable")
        hint = f"{later}, {AGAIN}"
    return FileError(f"cannot {verb} {path}: {error.strerror or error}", hint)


def quoted(path: File) -> str:
    """A path as a shell's word, which no command takes for an option.

    Examples
    --------
    >>> quoted("my file.csv")
    "'my file.csv'"
    >>> quoted("-x.csv")
    './-x.csv'
    >>> print(quoted("two\\nlines.csv"))
    $'two\\nlines.csv'
    """
    text = os.fspath(path)
    if text.startswith("-"):
        text = f"./{text}"
    if text.isprintable():
        return shlex.quote(text)
    marked = text.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{escaped(marked)}'"


def visible_files(folder: Path, pattern: str) -> list[Path]:
    """Paths below a folder that match, in order, and are not hidden nor in hidden
    folders: editors, Jupyter and macOS leave such files.

    None of a folder that does not exist.  Raises FileError if one cannot be read:
    ``Path.glob`` takes it for empty.
    """
    is_deep = "**" in pattern
    for _, folders, _ in os.walk(folder, onerror=_refuse_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if not is_deep:
            break
    paths = []
    for path in sorted(folder.glob(pattern)):
        below = path.relative_to(folder)
        if not any(name.startswith(".") for name in below.parts):
            paths.append(path)
    return paths


def _refuse_unreadable(error: OSError) -> None:
    """Refuse a folder that is there and cannot be read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return
    raise unreadable(error.filename, error) from error


@contextlib.contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Call ``observer`` before every file that :func:`atomic` moves into place."""
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


@contextlib.contextmanager
def atomic(path: File) -> Iterator[IO[bytes]]:
    """Open ``path`` for writing so that it appears whole or not at all.

    Raises KerhrmError if the folder cannot be written or the disk is full.
    """
    target = Path(path)
    part = target.with_name(f".{uuid.uuid4().hex}{PART}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if observer := _OBSERVER.get():
            observer(part, target)
        os.replace(part, target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write_text(path: File, text: str) -> None:
    """Write UTF-8 text atomically; compressed, if the name ends in .gz."""
    content = text.encode()
    if str(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    with atomic(path) as file:
        file.write(content)
