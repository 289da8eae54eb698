"""Inner state of a long job on disk, so that an interrupted one goes on where it was.

A job's long computations are *sections*, begun one after another in an order that depends
on its inputs alone.  What a section has saved comes back to the section of the same number
when the job is started again:

    section = begin("adam")
    state = section.saved or first_state()
    for step in range(state.step, n):
        ...
        section.offer(lambda: state)
    section.finish(result)

Outside a job (:func:`opened`) sections save nothing, so that the functions which use them
stay pure.  State is arrays in one ``.npz``, written atomically, at most every ``interval``
seconds and when the job is told to stop; jobs shorter than that write nothing.
"""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kerhrm.arrays import load_arrays, save_arrays

if TYPE_CHECKING:
    import torch
    from torch import Tensor

State = Mapping[str, np.ndarray]

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The job was told to stop, and its state is saved."""


class Journal:
    """State of all sections of one job.

    Parameters
    ----------
    path : Path
        The checkpoint file.
    interval : float
        Seconds between two writes.
    should_stop : callable
        Asked at every offer; a reason to save and stop, or None.
    """

    def __init__(self, path: Path, interval: float, should_stop: Callable[[], str | None]) -> None:
        self.path, self.interval, self.should_stop = path, interval, should_stop
        self.states: dict[int, dict[str, np.ndarray]] = {}
        self.finished: set[int] = set()
        self.begun = 0
        self.written = time.monotonic()
        if path.exists():
            self._read()

    def _read(self) -> None:
        arrays, facts = load_arrays(self.path)
        for key, array in arrays.items():
            number, _, name = key.partition(".")
            self.states.setdefault(int(number), {})[name] = array
        self.finished = set(facts["finished"])
        log.info("going on from %s: %d sections are done", self.path, len(self.finished))

    def offer(self, number: int, state: Callable[[], State]) -> None:
        """Save, if it is time to; raise :class:`Stopped`, if the job has to stop."""
        reason = self.should_stop()
        if reason is None and time.monotonic() - self.written < self.interval:
            return
        self.states[number] = dict(state())
        self.write()
        if reason is not None:
            raise Stopped(f"{reason}; the state is in {self.path}")

    def write(self) -> None:
        arrays = {
            f"{number}.{name}": array
            for number, state in self.states.items()
            for name, array in state.items()
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        save_arrays(self.path, arrays, {"finished": sorted(self.finished)})
        self.written = time.monotonic()


class Section:
    """One computation of a job.

    Attributes
    ----------
    saved : mapping of names to arrays, or None
        What was saved of it before.
    finished : bool
        Whether ``saved`` is its result.
    """

    def __init__(self, name: str, journal: Journal | None) -> None:
        self.name, self.journal = name, journal
        self.saved: State | None = None
        self.finished = False
        if journal is not None:
            self.number = journal.begun
            journal.begun += 1
            self.saved = journal.states.get(self.number)
            self.finished = self.number in journal.finished
        self.start = self.shown = time.monotonic()

    def offer(self, state: Callable[[], State]) -> None:
        """Give the state a chance to be saved; ``state`` is called only if it is.

        Raises
        ------
        Stopped
            If the job has to stop; the state is saved.
        """
        if self.journal is not None:
            self.journal.offer(self.number, state)

    def progress(self, done: int, total: int, loss: Callable[[], float]) -> None:
        """Log how far the section is, at most every ten seconds."""
        now = time.monotonic()
        if now - self.shown < 10 or done == 0:
            return
        self.shown = now
        left = (now - self.start) / done * (total - done)
        log.info("%s: %d of %d, loss %.4f, %.0f s left", self.name, done, total, loss(), left)

    def finish(self, result: Callable[[], State]) -> None:
        """Hand in the result, which takes the place of the state."""
        if self.journal is None or self.finished:
            return
        state = dict(result())
        self.journal.states[self.number] = state
        self.journal.finished.add(self.number)
        self.journal.offer(self.number, lambda: state)


_current: ContextVar[Journal | None] = ContextVar("journal", default=None)


def begin(name: str) -> Section:
    """Begin the next section of the running job."""
    return Section(name, _current.get())


def once(
    name: str, compute: "Callable[[], Mapping[str, Tensor]]", device: "torch.device"
) -> "Mapping[str, Tensor]":
    """A section without inner state: what it computed before, or else what it computes now."""
    import torch  # a second, which half of all jobs need not spend

    section = begin(name)
    if section.finished and section.saved is not None:
        return {key: torch.from_numpy(a).to(device) for key, a in section.saved.items()}
    result = compute()
    section.finish(lambda: {key: t.detach().cpu().numpy() for key, t in result.items()})
    return result


@contextlib.contextmanager
def opened(
    path: str | os.PathLike[str],
    interval: float = 30.0,
    should_stop: Callable[[], str | None] = lambda: None,
) -> Iterator[None]:
    """Let sections save to ``path``; the file is removed when the body succeeds."""
    path = Path(path)
    token = _current.set(Journal(path, interval, should_stop))
    try:
        yield
    finally:
        _current.reset(token)
    path.unlink(missing_ok=True)
