"""What killed processes leave behind, and how it is cleared away.

    python -m kerhrm.workflow.recovery PATH ...             before the jobs run again
    python -m kerhrm.workflow.recovery --finished PATH ...  after they have

is run where Snakemake is run; every PATH is a folder with results, or a file that a job
replaces.  Nothing is touched while a Snakemake is at work there.  Jobs whose Snakemake has
been killed are asked to stop first.  Then goes what no process can need: locks that nobody
holds, temporary files that nobody writes and, with ``--finished``, states of jobs whose
output exists.  Processes are found on this machine alone, where ``/proc`` shows them, and
jobs of a cluster where it is a Slurm; locks hold everywhere.
"""

import argparse
import contextlib
import fcntl
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kerhrm.errors import KerhrmError
from kerhrm.workflow.cluster import cancel_slurm_jobs
from kerhrm.workflow.replaced import forget_replaced

#: how long a job may take from the request to stop to its end
PATIENCE_SECONDS = 600.0
SCRIPTS = Path(".snakemake", "scripts")
PROC = Path("/proc")

LOCK = re.compile(r"\..+\.lock")
TEMPORARY = re.compile(r"\..+\.[a-z0-9_]{8}\.part")
STATE = re.compile(r"\.(?P<output>.+)\.[0-9a-f]{16}\.state")

log = logging.getLogger("kerhrm")


class Process(NamedTuple):
    """A process of this machine: its number, arguments and working folder."""

    number: int
    arguments: tuple[str, ...]
    folder: Path


def processes() -> Iterator[Process]:
    """Living processes whose working folder this user may see."""
    for entry in PROC.glob("[0-9]*"):
        try:
            arguments = os.fsdecode((entry / "cmdline").read_bytes()).split("\0")
            found = Process(int(entry.name), tuple(arguments), Path(os.readlink(entry / "cwd")))
        except OSError:  # it has ended meanwhile, or is another user's
            continue
        yield found


def snakemakes(root: Path) -> list[int]:
    """Numbers of the Snakemake processes that somebody has started in ``root``.

    Those that work for another one, as a job of a cluster, are told by their ``--mode``.
    """
    root = root.resolve()
    return [
        p.number
        for p in processes()
        if p.folder == root
        and "snakemake" in {Path(a).name for a in p.arguments[:4]}
        and "--mode" not in p.arguments
    ]


def jobs(root: Path) -> list[int]:
    """Numbers of the processes that run scripts of the workflow in ``root``."""
    scripts = f"{root.resolve() / SCRIPTS}/"
    return [p.number for p in processes() if any(scripts in a for a in p.arguments)]


def check_idle(root: Path) -> None:
    """Make sure that no Snakemake works in ``root``.

    Raises
    ------
    KerhrmError
        If one does.
    """
    if alive := snakemakes(root):
        raise KerhrmError(
            f"Snakemake is at work in {root} (process {alive[0]})",
            f"wait until it has ended, or stop it: kill {alive[0]}",
        )


def stop_orphans(root: Path, patience: float = PATIENCE_SECONDS) -> list[int]:
    """Ask jobs without Snakemake to save their state and end; wait until they have.

    Raises
    ------
    KerhrmError
        If a job does not end.
    """
    orphans = left = jobs(root)
    for number in orphans:
        log.info("stopping process %d, whose Snakemake has died", number)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGTERM)
    end = time.monotonic() + patience
    while left := [n for n in jobs(root) if n in left]:
        if time.monotonic() > end:
            raise KerhrmError(
                f"a job has not stopped within {patience:.0f} s (process {left[0]})",
                f"end it: kill -KILL {left[0]}; then run again",
            )
        time.sleep(0.1)
    return orphans


def clear(paths: Iterable[Path], *, finished: bool = False) -> list[Path]:
    """Remove what no process can need any more.

    Parameters
    ----------
    paths : iterable of Path
        Folders, with all below them, and files, with what is left of their writing.
    finished : bool
        Whether all jobs have run: then states go whose output exists.

    Returns
    -------
    list of Path
        What was removed, sorted.

    Raises
    ------
    KerhrmError
        If a file cannot be removed.
    """
    hidden = sorted({file for path in paths for file in _hidden(path)})
    # Opened by now, or else written under another name: the list is older than this look.
    written = _being_written()
    removed, busy = [], set()
    for path in hidden:
        if LOCK.fullmatch(path.name):
            if _remove_free_lock(path):
                removed.append(path)
            elif path.exists():
                busy.add(path.parent)
    for path in hidden:
        if path.parent not in busy and _is_left(path, written, finished):
            _remove(path)
            removed.append(path)
    return sorted(removed)


def _hidden(path: Path) -> Iterator[Path]:
    found = path.parent.glob(f".{path.name}.*") if path.is_file() else path.rglob(".*")
    return (file for file in found if file.is_file() and not file.is_symlink())


def _being_written() -> set[tuple[int, int]]:
    """Devices and inodes of the temporary files that living processes have open."""
    found = set()
    for link in PROC.glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(link).endswith(".part"):
                status = link.stat()
                found.add((status.st_dev, status.st_ino))
    return found


def _is_left(path: Path, written: set[tuple[int, int]], finished: bool) -> bool:
    if TEMPORARY.fullmatch(path.name):
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            return (status.st_dev, status.st_ino) not in written
    state = STATE.fullmatch(path.name)
    return finished and state is not None and path.with_name(state["output"]).exists()


def _remove_free_lock(path: Path) -> bool:
    """Remove a lock while holding it, as its last holder does."""
    try:
        with open(path, "r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError as error:
        raise _cannot_remove(path, error) from error
    return True


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _cannot_remove(path, error) from error


def _cannot_remove(path: Path, error: OSError) -> KerhrmError:
    return KerhrmError(
        f"cannot remove {path}: {error.strerror}", "make its folder writable, then run again"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """The command; exit status 1 with one line if it cannot be done."""
    parser = argparse.ArgumentParser(prog="python -m kerhrm.workflow.recovery")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--finished", action="store_true", help="the interrupted jobs have run")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="recovery: %(message)s")
    root = Path.cwd()
    try:
        check_idle(root)
        cancel_slurm_jobs(root, PATIENCE_SECONDS)
        stop_orphans(root)
        for script in (root / SCRIPTS).glob("tmp*"):  # copies of scripts that ran
            _remove(script)
        for path in clear(options.paths, finished=options.finished):
            log.info("removed %s", path)
        if options.finished:
            forget_replaced()
    except KerhrmError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
