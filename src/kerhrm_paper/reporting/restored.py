"""A folder that is put back as it was where a change of it fails."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from kerhrm.errors import FileError
from kerhrm.files import atomic
from kerhrm_paper.reporting.publish_lock import LOCK


@contextmanager
def restored_on_error(target: Path) -> Iterator[None]:
    """Put a folder back as it was if what follows fails.

    Raises FileError if that fails, too; it names the copy of what the folder held.
    """
    before = Path(mkdtemp(), "before")
    no_lock = shutil.ignore_patterns(LOCK)
    try:
        if target.is_dir():
            shutil.copytree(
                target, before, ignore=no_lock, ignore_dangling_symlinks=True
            )
    except BaseException:
        shutil.rmtree(before.parent, ignore_errors=True)
        raise
    try:
        yield
    except BaseException:
        _put_back(before, target)
        shutil.rmtree(before.parent, ignore_errors=True)
        raise
    shutil.rmtree(before.parent, ignore_errors=True)


def _put_back(before: Path, target: Path) -> None:
    """Give a folder the files of its copy, and no others but a lock.

    What has not changed stays: the folder may be a link or a mount, which cannot be
    removed, and a disk may be full.
    """
    try:
        for path in sorted(target.rglob("*"), reverse=True):
            earlier = before / path.relative_to(target)
            if earlier.exists() or path.is_symlink() or path.name == LOCK:
                continue
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
        for earlier in before.rglob("*"):
            path = target / earlier.relative_to(before)
            if not earlier.is_file():
                continue
            content = earlier.read_bytes()
            if path.is_file() and path.read_bytes() == content:
                continue
            with atomic(path) as file:
                file.write(content)
        if target.is_dir() and not before.exists():
            target.rmdir()
    except OSError as error:
        problem = f"cannot put {target} back as it was: {error.strerror or error}"
        hint = f"what it held is in {before}: copy that back"
        raise FileError(problem, hint) from error
