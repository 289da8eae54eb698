"""One process at a time publishes to a folder.

What is published is read, added to and put back after an error: a second process would
lose what the first one writes meanwhile.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kerhrm.errors import FileError, KerhrmError
from kerhrm_paper.runs.locks import acquire, holder

#: in the folder, while a process publishes to it
LOCK = ".publish.lock"


def check_free(folder: Path) -> None:
    """Refuse a folder that a process publishes to, or to one above or in it."""
    place = folder.resolve()
    locks = [path / LOCK for path in (place, *place.parents)]
    with suppress(OSError):  # a folder that cannot be read is refused elsewhere
        locks += place.glob(f"*/{LOCK}")
    for path in locks:
        who = None
        with suppress(OSError):  # another user's
            who = holder(path)
        if who:
            raise _at_work(path.parent, who)


@contextmanager
def publishing(folder: Path) -> Iterator[None]:
    """Hold a folder that is published to.

    It is made if it is not there, and removed again if it stays empty.

    Raises
    ------
    KerhrmError
        If another process publishes there, or the folder cannot be written.
    """
    check_free(folder)
    places = (folder, *folder.parents)
    absent = [place for place in places if not os.path.exists(place)]
    try:
        with _locked(folder):
            yield
    finally:
        for place in absent:
            with suppress(OSError):  # it has files now
                place.rmdir()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; refuse the folder where another process does."""
    path = folder / LOCK
    try:
        lock = acquire(path)
    except FileError as error:
        cause = error.__cause__
        if os.path.lexists(path) or not isinstance(cause, OSError):
            raise  # it is another user's, or no file
        problem = f"cannot write {folder}: {cause.strerror}"
        raise FileError(problem, error.hint) from error
    if lock is None:
        raise _at_work(folder, holder(path) or "another process")
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        lock.release()


def _at_work(folder: Path, who: str) -> KerhrmError:
    """Error of a folder that another process publishes to."""
    problem = f"kerhrm publish is at work in {folder} ({who})"
    return KerhrmError(problem, "wait until it has ended, or stop it")
