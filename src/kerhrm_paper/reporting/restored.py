"""A folder that is put back as it was where a change of it fails."""

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from kerhrm.errors import FileError
from kerhrm.files import atomic, observed
from kerhrm_paper.runs.provenance import digest

CHANGED = "changed by others meanwhile, and left as it is: %s; earlier files are in %s"

log = logging.getLogger("kerhrm")


@contextmanager
def restored_on_error(target: Path) -> Iterator[None]:
    """Put back the files of a folder that are written in this context if it fails.

    What others write there meanwhile stays.  Only files count that
    :func:`kerhrm.files.atomic` writes.

    A file that others have changed after it was written stays, too; a warning names
    the copy of the earlier one.  Raises FileError if a file cannot be put back; it
    names the copies of the earlier files.
    """
    copies = Path(mkdtemp(), "before")
    changes = _Changes(target, copies)
    is_kept = False
    try:
        with observed(changes.note):
            yield
    except BaseException:
        is_kept = True
        changed = _put_back(changes)
        if changed:
            names = ", ".join(map(str, changed))
            log.warning(CHANGED, names, copies)
        is_kept = bool(changed)
        raise
    finally:
        if not is_kept:
            shutil.rmtree(copies.parent, ignore_errors=True)


class _Changes:
    """The files of a folder that were written, and what stood there before.

    Parameters
    ----------
    target : Path
        The folder.
    copies : Path
        Folder for copies of the earlier files.
    """

    def __init__(self, target: Path, copies: Path) -> None:
        self.target = target
        #: digests of the files as they were written
        self.written: dict[Path, str] = {}
        #: folders that were there before
        self.folders: set[Path] = set()
        self._copies = copies
        if target.is_dir():
            self.folders = {Path(path) for path, _, _ in os.walk(target)}

    def note(self, part: Path, path: Path) -> None:
        """Keep the file at a path, which a complete file replaces next."""
        if not path.is_relative_to(self.target):
            return
        earlier = self.written.get(path)
        if path.exists() and digest(path) != earlier:
            copy = self.copy(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
        self.written[path] = digest(part)

    def copy(self, path: Path) -> Path:
        """Place of the copy of an earlier file."""
        return self._copies / path.relative_to(self.target)


def _put_back(changes: _Changes) -> list[Path]:
    """Put back the files that were written; those that others have changed since."""
    changed = []
    try:
        for path, written in changes.written.items():
            copy = changes.copy(path)
            found = digest(path) if path.is_file() else None
            if found == written:
                _restore(copy, path)
            elif copy.exists() and found != digest(copy):
                changed.append(path)
        _remove_folders(changes)
    except OSError as error:
        target = changes.target
        reason = getattr(error, "problem", None) or error.strerror or error
        problem = f"cannot put {target} back as it was: {reason}"
        hint = f"its earlier files are in {changes.copy(target)}: copy them back"
        raise FileError(problem, hint) from error
    return changed


def _restore(copy: Path, path: Path) -> None:
    """Give a path its earlier file, with its mode, or none where there was none."""
    if not copy.exists():
        path.unlink()
        return
    content = copy.read_bytes()
    with atomic(path) as file:
        file.write(content)
        shutil.copymode(copy, file.name)


def _remove_folders(changes: _Changes) -> None:
    """Remove folders that were made for files that were written, and are empty."""
    made = set()
    for path in changes.written:
        inner = (path.parent, *path.parent.parents)
        made |= {place for place in inner if place.is_relative_to(changes.target)}
    for place in sorted(made - changes.folders, reverse=True):
        with suppress(OSError):  # it is a link, or has other files
            place.rmdir()
